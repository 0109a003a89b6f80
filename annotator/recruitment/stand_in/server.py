"""The stand-in over HTTP: Prolific's API, its signing keys, its webhooks, and two pages for the person who tries a study out."""

from __future__ import annotations

import json
import logging
import random
import threading
from dataclasses import dataclass
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from annotator.core.tls import tls_context
from annotator.recruitment.stand_in.books import ProlificBooks, Refusal

log = logging.getLogger(__name__)

#: The cookie that remembers whose submission this browser has.
COOKIE = "stand_in_submission"


class StandIn(ThreadingHTTPServer):
    """Serves one set of books; ``port`` 0 takes a free one."""

    daemon_threads = True

    def __init__(self, books: ProlificBooks, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port), _handler(books))
        books.url = f"http://{host}:{self.server_address[1]}"


def _handler(books: ProlificBooks) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urlsplit(self.path).path
            if path == "/.well-known/study/jwks.json":
                self._reply(200, json.dumps(books.signer.key_set()).encode(), {})
            elif path.startswith("/api/"):
                self._api(sent)
            else:
                self._page(path, {name: one[0] for name, one in parse_qs(urlsplit(self.path).query).items()})

        do_GET = do_POST = do_PATCH = do_DELETE = _any

        def _api(self, sent: bytes) -> None:
            body = json.loads(sent) if sent else None
            found = books.exchange(self.command, self.path, body, self.headers.get("Authorization", ""))
            if found is None:
                self.close_connection = True
                return
            status, reply, headers = found
            self._reply(status, b"" if reply is None else json.dumps(reply).encode(), headers)

        def _page(self, path: str, asked: dict[str, str]) -> None:
            try:
                if path == "/start":
                    submission = books.arrive(asked["study"], books.id())
                    cookie = f"{COOKIE}={submission}; Path=/; HttpOnly; SameSite=Lax"
                    self._reply(302, b"", {"Location": books.link(submission), "Set-Cookie": cookie})
                    return
                if path == "/submissions/complete":
                    submission = self.headers.get("Cookie", "").partition(f"{COOKIE}=")[2].partition(";")[0]
                    books.complete(submission, asked["cc"])
                    text = f"<p>The code {escape(asked['cc'])} was entered.</p>"
                else:
                    text = _studies(books)
            except Refusal as refusal:
                text = f"<p>{escape(str(refusal.body['error']['detail']))}</p>"
            except KeyError:
                text = "<p>There is no such study, submission or code.</p>"
            page = f"<!doctype html><html lang=en><title>Stand-in of Prolific</title><h1>Stand-in of Prolific</h1>{text}</html>"
            self._reply(200, page.encode(), {}, kind="text/html; charset=utf-8")

        def _reply(
            self, status: int, content: bytes, headers: dict[str, str], kind: str = "application/json"
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


def _studies(books: ProlificBooks) -> str:
    rows = "".join(
        f"<li>{escape(one['name'])}: {escape(one['status'])}, {books.taken(pk)} of {one['total_available_places']} places taken"
        + (
            f' - <a href="/start?study={escape(pk)}">take part as a new person</a>'
            if one["status"] == "ACTIVE"
            else ""
        )
        for pk, one in list(books.studies.items())
    )
    return f"<ul>{rows}</ul>" if rows else "<p>No study was created yet.</p>"


@dataclass
class Troubles:
    """What goes wrong, as shares of 1: webhooks that are lost or sent twice, and API requests that get a 429 or a 500."""

    lost: float = 0
    doubled: float = 0
    limited: float = 0
    failed: float = 0


def events_send(
    books: ProlificBooks, faults: Troubles, stop: threading.Event, *, seed: int, every: float = 1.0
) -> None:
    """Until ``stop``: webhooks are sent in another order than they happened, and requests get troubles."""
    rng = random.Random(seed)
    while not stop.wait(every):
        books.deliver(_post, seed=rng.randrange(1, 10**6), lost=faults.lost, doubled=faults.doubled)
        for share, trouble in ((faults.limited, "429"), (faults.failed, "500")):
            if rng.random() < share and not books.troubles:
                books.troubles.append(("/api/", trouble))


def _post(url: str, body: bytes, headers: dict[str, str]) -> None:
    try:
        httpx2.post(url, content=body, headers=headers, timeout=10, verify=tls_context())
    except httpx2.HTTPError as error:
        log.warning("a webhook could not be delivered: %s", type(error).__name__)
