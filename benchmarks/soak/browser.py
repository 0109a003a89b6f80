"""An annotator's browser: cookies, forms, and what ``static/js/offline.js`` does if there is no reply."""

from __future__ import annotations

import http.client
import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from random import Random
from urllib.parse import urlencode, urlsplit

RETRIED = {500, 502, 503, 504}
PATIENCE = 900.0
_FORM = re.compile(r"<form\b([^>]*)>(.*?)</form>", re.S)
_CONTROL = re.compile(r"<(input|textarea)\b([^>]*)>", re.S)
_ATTRIBUTE = re.compile(r"([\w-]+)=\"([^\"]*)\"")


class GaveUp(Exception):
    """No reply within ``PATIENCE`` seconds."""


@dataclass(frozen=True)
class Form:
    """A form: its path, its hidden fields, and the values that each other field offers (a text offers none)."""

    path: str
    hidden: dict[str, str]
    fields: dict[str, list[str]]
    html: str

    def answers(self, rng: Random) -> dict[str, str]:
        """A value for every field, text for text fields."""
        return {name: rng.choice(values) if values else "None." for name, values in self.fields.items()}


@dataclass(frozen=True)
class Page:
    status: int
    path: str
    text: str
    moved: str = ""

    def form(self, path: str) -> Form | None:
        """The first form that posts to an address which matches the expression; without an address, to the page's own."""
        for attributes, inner in _FORM.findall(self.text):
            found = dict(_ATTRIBUTE.findall(attributes))
            action = found.get("action", "") or self.path.partition("?")[0]
            if found.get("method") != "post":
                continue
            if re.fullmatch(path, action):
                return _form(action, inner)
        return None


def _form(path: str, inner: str) -> Form:
    hidden: dict[str, str] = {}
    fields: dict[str, list[str]] = {}
    for tag, attributes in _CONTROL.findall(inner):
        found = dict(_ATTRIBUTE.findall(attributes))
        name, kind = found.get("name"), found.get("type", "text")
        if not name:
            continue
        if kind == "hidden":
            hidden[name] = unescape(found.get("value", ""))
        elif tag == "textarea":
            fields[name] = []
        elif kind in ("radio", "checkbox"):
            fields.setdefault(name, []).append(unescape(found.get("value", "")))
    return Form(path, hidden, fields, inner)


class Traffic:
    """The requests of all browsers together."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.resent = 0
        self.lock = threading.Lock()

    def saw(self, status: int) -> None:
        with self.lock:
            self.statuses[status] += 1

    def no_reply(self) -> None:
        with self.lock:
            self.resent += 1


class Browser:
    """One session on one of the addresses of an installation; on the next one where a connection fails."""

    def __init__(self, addresses: Sequence[str], traffic: Traffic, headers: dict[str, str]) -> None:
        self.addresses, self.traffic, self.headers = list(addresses), traffic, headers
        self.cookies: dict[str, str] = {}
        self.connection: http.client.HTTPConnection | None = None

    def tab(self) -> Browser:
        """A second tab: the same cookies on another connection."""
        other = Browser(self.addresses, self.traffic, self.headers)
        other.cookies = dict(self.cookies)
        return other

    def get(self, path: str) -> Page:
        return self.send("GET", path)

    def post(self, path: str, data: dict[str, str], *, swap: bool = False) -> Page:
        return self.send("POST", path, data, swap=swap)

    def send(self, method: str, path: str, data: dict[str, str] | None = None, *, swap: bool = False) -> Page:
        """Send until there is a reply other than "try again", then follow redirects."""
        deadline, wait = time.monotonic() + PATIENCE, 0.1
        while True:
            page = self._once(method, path, data, swap)
            if page is not None and page.status not in RETRIED:
                break
            if time.monotonic() > deadline:
                raise GaveUp(f"{method} {path}")
            time.sleep(wait)
            wait = min(wait * 1.5, 2.0)
        if page.moved and page.status in (204, 301, 302, 303):
            return self.send("GET", page.moved)
        return page

    def _once(self, method: str, path: str, data: dict[str, str] | None, swap: bool) -> Page | None:
        headers = {**self.headers, "Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        body = None
        if data is not None:
            body = urlencode(data)
            headers |= {
                "Content-Type": "application/x-www-form-urlencoded",
                "X-CSRFToken": self.cookies.get("csrftoken", ""),
            }
        if swap:
            headers["HX-Request"] = "true"
        try:
            if self.connection is None:
                where = urlsplit(self.addresses[0])
                self.connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
            self.connection.request(method, path, body, headers)
            reply = self.connection.getresponse()
            text = reply.read().decode()
        except (OSError, http.client.HTTPException):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            self.addresses.append(self.addresses.pop(0))
            self.traffic.no_reply()
            return None
        self.traffic.saw(reply.status)
        for name, value in reply.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        moved = reply.headers.get("Location") or reply.headers.get("HX-Redirect") or ""
        if "://" in moved:
            moved = urlsplit(moved)._replace(scheme="", netloc="").geturl()
        return Page(reply.status, path, text, moved)
