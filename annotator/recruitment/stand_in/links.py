"""What the stand-in signs: study links, with published keys, and webhooks."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from annotator.recruitment.panels.prolific import webhook_signature

ISSUER = "https://www.prolific.example"
STUDY = "64395e9c2332b8a59a65d51e"
SECRET = "cGNqFPb6y0RT3XO9XVSessBDYIbHQ-test"  # noqa: S105 - of nobody
_numbers = count()


def rsa_key() -> rsa.RSAPrivateKey:
    """A new signing key."""
    return rsa.generate_private_key(65537, 2048)


@dataclass
class LinkSigner:
    """Signs study links. ``keys`` are published under their ids; ``asked`` counts how often; ``down`` makes the server fail."""

    url: str = ""
    keys: dict[str, Any] = field(default_factory=lambda: {"key-1": rsa_key()})
    signs_with: str = "key-1"
    asked: int = 0
    down: bool = False

    def rotate(self, *, elliptic: bool = False) -> None:
        """Replace the signing key by another one."""
        self.signs_with = f"key-{secrets.token_hex(4)}"
        self.keys = {self.signs_with: ec.generate_private_key(ec.SECP256R1()) if elliptic else rsa_key()}

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
        signing: Any = (self.keys[self.signs_with] if key is None else key) or None
        algorithm = algorithm or ("RS256" if isinstance(signing, rsa.RSAPrivateKey) else "ES256")
        return jwt.encode(
            {name: value for name, value in whole.items() if value is not None},
            signing,
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
    # Prolific's timestamps are in seconds. Two webhooks that say the same must not have the same signature.
    stamp = str(int(time.time()) + next(_numbers) % 200 if sent is None else int(sent))
    headers = {
        "Content-Type": "application/json",
        "X-Prolific-Request-Timestamp": stamp,
        "X-Prolific-Request-Signature": webhook_signature(secret=secret, timestamp=stamp, body=body),
        "X-Event-ID": event or secrets.token_hex(12),
        "X-Timestamp": str(time.time() if at is None else at),
    }
    return body, headers
