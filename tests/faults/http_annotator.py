"""An annotator who works over HTTP and repeats requests that get no reply."""

from __future__ import annotations

import re
import time
from collections import Counter

import httpx2

from annotator.services.rehearsal.over_http import hidden_fields

FORM = re.compile(r'<form\b[^>]*\baction="(/task/(\d+)/)"[^>]*>(.*?)</form>', re.S)


class Annotator:
    """Joins by the link and answers until nothing is left; repeats requests without a reply, as offline.js does."""

    def __init__(self, url: str, token: str, slug: str):
        self.client = httpx2.Client(base_url=url, follow_redirects=True, timeout=300)
        self.token, self.slug = token, slug
        self.acknowledged: list[int] = []
        self.statuses: Counter[int] = Counter()
        self.resent = 0

    def send(
        self, method: str, path: str, data: dict[str, str] | None = None, *, swap: bool = False
    ) -> httpx2.Response:
        deadline = time.monotonic() + 600
        while True:
            headers = {
                "X-CSRFToken": self.client.cookies.get("csrftoken", ""),
                "Referer": str(self.client.base_url),
            }
            if swap:
                headers["HX-Request"] = "true"
            try:
                reply = self.client.request(method, path, data=data, headers=headers)
            except httpx2.TransportError:
                if time.monotonic() > deadline:
                    raise
                self.resent += 1
                time.sleep(0.1)
                continue
            self.statuses[reply.status_code] += 1
            return reply

    def work(self, most: int = 10_000) -> None:
        join = f"/join/{self.token}/"
        self.send("GET", join)
        self.send("POST", join, {})
        page = self.send("POST", f"/study/{self.slug}/instructions/", {})
        while len(self.acknowledged) < most and (task := FORM.search(page.text)):
            path, pk = task.group(1), int(task.group(2))
            data = hidden_fields(task.group(3)) | {"helpful": "yes", "answer": "no" if pk % 2 else "yes"}
            page = self.send("POST", path, data, swap=True)
            if page.status_code in (200, 204):
                self.acknowledged.append(pk)
            if page.headers.get("HX-Redirect"):
                page = self.send("GET", page.headers["HX-Redirect"])
