"""A small web server of pictures, for tests of what is fetched from other servers."""

from __future__ import annotations

import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.pictures import picture


class PictureServer:
    """Serves ``pages`` (path -> status, headers, body), and counts what was asked for.

    ``/slow`` sends a byte every 50 ms, ``/endless`` sends until nobody reads.
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.sent = 0
        self.headers: list[dict[str, str]] = []
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.port = 0
        self.scheme = "http"

    def url(self, path: str, *, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def page(
        self, path: str, body: bytes = b"", *, status: int = 200, headers: dict[str, str] | None = None
    ) -> str:
        self.pages[path] = (status, headers or {}, body)
        return self.url(path)

    def redirect(self, path: str, to: str) -> str:
        return self.page(path, status=302, headers={"Location": to})


@contextmanager
def pictures_served(context: ssl.SSLContext | None = None) -> Iterator[PictureServer]:
    server = PictureServer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            server.asked[self.path] += 1
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            with suppress(OSError):  # the client has had enough
                self._answer()

        def _answer(self) -> None:
            status, headers, body = server.pages.get(self.path, (404, {}, b"not here"))
            streams = {"/slow": (1, 0.05), "/endless": (64 * 1024, 0.0)}
            if self.path in streams:
                self.send_response(200)
                self.end_headers()
                size, pause = streams[self.path]
                for _ in range(2_000):
                    self.wfile.write(b"\x89" * size)
                    server.sent += size
                    time.sleep(pause)
                return
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.port = http.server_address[1]
    if context is not None:
        http.socket = context.wrap_socket(http.socket, server_side=True)
        server.scheme = "https"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    server.page("/cat.png", picture())
    server.page("/dog.png", picture("brown"))
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
