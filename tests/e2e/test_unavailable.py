"""The page that a browser shows while the server replies 500 to 504, and what it does with an answer meanwhile."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

from foretell import env
from tests.e2e.axe import violations
from tests.e2e.fake_server import worker_ready
from tests.e2e.style_server import served

pytestmark = pytest.mark.browser


class Proxy:
    """Passes requests on, or replies with ``status``, as a proxy does when no server responds."""

    def __init__(self, target: str) -> None:
        self.status = 0
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if proxy.status:
                    self.answer(proxy.status, "text/html", b"<h1>Bad Gateway</h1>", {})
                    return
                try:
                    with urllib.request.urlopen(target + self.path, timeout=300) as reply:
                        self.answer(
                            reply.status, reply.headers["Content-Type"], reply.read(), dict(reply.headers)
                        )
                except urllib.error.HTTPError as error:
                    self.answer(error.code, error.headers["Content-Type"], error.read(), {})

            do_POST = do_GET

            def answer(self, status: int, kind: str, body: bytes, headers: dict[str, str]) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name in ("Content-Security-Policy", "Service-Worker-Allowed", "Set-Cookie"):
                    if name in headers:
                        self.send_header(name, headers[name])
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """No log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with served() as target:
        made = Proxy(target)
        yield made
        made.close()


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_page_that_cannot_be_opened_says_why_and_opens_later(page: Page, proxy: Proxy, status: int) -> None:
    proxy.status = 0
    task = f"{proxy.address}/style/screen/task/"
    page.goto(task)
    worker_ready(page)
    page.reload()
    proxy.status = status
    page.goto(task)
    expect(page.get_by_role("heading", name="The service is unavailable")).to_be_visible()
    expect(page.get_by_text("Everything you submitted before is saved")).to_be_visible()
    proxy.status = 0
    page.reload()
    expect(page.locator("form[data-task]")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_proxys_own_page_is_readable(page: Page, scheme: str) -> None:
    """Somebody who comes for the first time has no service worker: Caddy shows this file."""
    folder = env.ROOT / "deploy" / "unavailable"
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.route(
        "**/style.css", lambda route: route.fulfill(path=folder / "style.css", content_type="text/css")
    )
    page.route(
        "**/study/**", lambda route: route.fulfill(path=folder / "index.html", content_type="text/html")
    )
    page.goto("http://127.0.0.1:9/study/owls/")
    assert page.evaluate("getComputedStyle(document.body).maxWidth") == "720px", "its style sheet is used"
    assert violations(page, every_rule=True) == []
