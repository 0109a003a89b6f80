"""A small imitation of Prolific: it publishes signing keys, signs study links, and sends signed webhooks."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import urlencode

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from annotator.recruitment.panels.prolific import webhook_signature
from annotator.recruitment.registry import PANELS
from annotator.recruitment.signing_keys import SigningKeys

ISSUER = "https://www.prolific.example"
STUDY = "64395e9c2332b8a59a65d51e"
SECRET = "cGNqFPb6y0RT3XO9XVSessBDYIbHQ-test"
_numbers = count()


def _rsa() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@dataclass
class Prolific:
    """``keys`` are published under their ids; ``asked`` counts how often; ``down`` makes the server fail."""

    url: str = ""
    keys: dict[str, Any] = field(default_factory=lambda: {"key-1": _rsa()})
    signs_with: str = "key-1"
    asked: int = 0
    down: bool = False

    def rotate(self, *, elliptic: bool = False) -> None:
        """Replace the signing key by another one."""
        self.signs_with = f"key-{secrets.token_hex(4)}"
        self.keys = {self.signs_with: ec.generate_private_key(ec.SECP256R1()) if elliptic else _rsa()}

    def key_set(self) -> dict[str, Any]:
        listed = []
        for kid, key in self.keys.items():
            kind: Any = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
            alg = "RS256" if kind is RSAAlgorithm else "ES256"
            public = kind.to_jwk(key.public_key(), as_dict=True)
            listed.append({**public, "kid": kid, "alg": alg, "use": "sig", "key_ops": ["verify"]})
        return {"keys": listed}

    def token(
        self,
        person: str,
        *,
        path: str = "/",
        host: str = "testserver",
        study: str = STUDY,
        submission: str = "",
        key: Any = None,
        headers: dict[str, Any] | None = None,
        algorithm: str = "",
        **claims: Any,
    ) -> str:
        """A link's token for a participant. ``claims`` replace those of a valid one; None leaves one out."""
        submission = submission or f"sub-of-{person}"
        now = int(time.time())
        whole = {
            "iss": ISSUER, "aud": f"https://{host}{path}", "sub": submission, "iat": now, "exp": now + 600,
            "jti": secrets.token_hex(8),
            "prolific": {"PROLIFIC_PID": person, "STUDY_ID": study, "SESSION_ID": submission, "workspace_id": "w"},
        } | claims  # fmt: skip
        signing = self.keys[self.signs_with] if key is None else key
        algorithm = algorithm or ("RS256" if isinstance(signing, rsa.RSAPrivateKey) else "ES256")
        return jwt.encode(
            {name: value for name, value in whole.items() if value is not None},
            signing or None,
            algorithm=algorithm,
            headers=headers or {"kid": self.signs_with},
        )

    def query(self, person: str, **about: Any) -> str:
        """The end of a signed study link."""
        return urlencode({"prolific_token": self.token(person, **about)})


def webhook(
    status: str,
    *,
    submission: str = "",
    person: str = "",
    study: str = "",
    at: float | None = None,
    sent: float | None = None,
    event: str = "",
    secret: str = SECRET,
) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a webhook about a submission, or about a study if ``study`` is given."""
    content = (
        {"resource_id": study, "event_type": "study.status.change", "metadata": {}, "status": status}
        if study
        else {
            "resource_id": submission,
            "event_type": "submission.status.change",
            "participant_id": person,
            "status": status,
        }
    )
    body = json.dumps(content, separators=(",", ":")).encode()
    # Prolific's timestamps are in seconds. Two webhooks of a test that say the same must not have the same signature.
    stamp = str(int(time.time()) + next(_numbers) % 200 if sent is None else int(sent))
    headers = {
        "Content-Type": "application/json",
        "X-Prolific-Request-Timestamp": stamp,
        "X-Prolific-Request-Signature": webhook_signature(secret=secret, timestamp=stamp, body=body),
        "X-Event-ID": event or secrets.token_hex(12),
        "X-Timestamp": str(time.time() if at is None else at),
    }
    return body, headers


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
    prolific = Prolific()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(prolific))
    prolific.url = f"http://127.0.0.1:{server.server_address[1]}/.well-known/study/jwks.json"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield prolific
    finally:
        server.shutdown()
        server.server_close()
