"""Serve the style gallery under the strictest possible policy, without a database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.test import override_settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """No log."""


def with_policy(app: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            kept = [header for header in headers if header[0].lower() != "content-security-policy"]
            return start_response(status, [*kept, ("Content-Security-Policy", POLICY)], exc_info)

        return app(environ, start)

    return wrapped


@contextmanager
def served() -> Iterator[str]:
    """Yield the address of a server whose pages can only load their own files."""
    with override_settings(DEBUG=True, ALLOWED_HOSTS=["127.0.0.1"]):
        server = ThreadedWSGIServer(("127.0.0.1", 0), Quiet)
        server.set_app(with_policy(StaticFilesHandler(get_wsgi_application())))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
