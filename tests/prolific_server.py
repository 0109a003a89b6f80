"""A small imitation of Prolific at a free port: it publishes the signing keys of the stand-in, and sends its signed webhooks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2

from annotator.recruitment.registry import PANELS
from annotator.recruitment.signing_keys import SigningKeys
from annotator.recruitment.stand_in.links import ISSUER, SECRET, STUDY, rsa_key, webhook
from annotator.recruitment.stand_in.links import LinkSigner as Prolific
from tests.signing_key import signing_key

__all__ = ["ISSUER", "SECRET", "STUDY", "Prolific", "rsa_key", "webhook"]


def webhook_send(url: str, status: str, **about: Any) -> httpx2.Response:
    """Send a webhook over HTTP."""
    body, headers = webhook(status, **about)
    return httpx2.post(url, content=body, headers=headers, timeout=120)


def _handler(prolific: Prolific) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            prolific.asked += 1
            found = self.path == "/.well-known/study/jwks.json" and not prolific.down
            body = json.dumps(prolific.key_set() if found else {}).encode()
            self.send_response(200 if found else 503)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def prolific_trusted() -> Iterator[Prolific]:
    """The imitation, whose links the panel accepts meanwhile."""
    panel: Any = PANELS.get("prolific")
    before = panel.issuer, panel.keys
    with prolific_server() as prolific:
        panel.issuer, panel.keys = ISSUER, SigningKeys(prolific.url)
        yield prolific
        panel.issuer, panel.keys = before


def keys_forget(prolific: Prolific) -> None:
    """Let the panel fetch the imitation's keys again."""
    panel: Any = PANELS.get("prolific")
    panel.keys = SigningKeys(prolific.url)


@contextmanager
def prolific_server() -> Iterator[Prolific]:
    """An imitation of Prolific at a free port of this machine."""
    prolific = Prolific(keys={"key-1": signing_key()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(prolific))
    prolific.url = f"http://127.0.0.1:{server.server_address[1]}/.well-known/study/jwks.json"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield prolific
    finally:
        server.shutdown()
        server.server_close()
