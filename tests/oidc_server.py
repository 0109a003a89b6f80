"""A small OpenID Connect provider that speaks the real protocol: discovery, codes with PKCE, signed tokens, userinfo."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.signing_key import signing_key

CLIENT_ID, SECRET = "foretell-test", "a-secret-of-the-test"


@dataclass
class Provider:
    """The claims about the user who logs in, and the codes and tokens that were issued."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    key: rsa.RSAPrivateKey = field(default_factory=signing_key)

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def authorize(self, query: dict[str, str]) -> str:
        """The address that the browser is sent back to, with a code."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, sent: dict[str, str]) -> dict[str, Any]:
        """A code is exchanged once, by the client that asked for it, with its PKCE verifier."""
        asked = self.codes.pop(sent.get("code", ""), None)
        if asked is None or (sent.get("client_id"), sent.get("client_secret")) != (CLIENT_ID, SECRET):
            return {"error": "invalid_grant"}
        challenge = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(challenge).rstrip(b"=").decode() != asked.get("code_challenge"):
            return {"error": "invalid_grant"}
        access = secrets.token_urlsafe(16)
        self.tokens[access] = self.claims
        now = int(time.time())
        claims = {**self.claims, "iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300}
        signed = jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "1"})
        return {"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": signed}


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            where = urlsplit(self.path)
            if where.path == "/.well-known/openid-configuration":
                self.reply(provider.discovery())
            elif where.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(where.query).items()}
                self.send_response(302)
                self.send_header("Location", provider.authorize(query))
                self.end_headers()
            elif where.path == "/userinfo":
                access = self.headers.get("Authorization", "").removeprefix("Bearer ")
                self.reply(provider.tokens.get(access, {}), 200 if access in provider.tokens else 401)
            else:
                self.reply({}, 404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            sent = {name: values[0] for name, values in parse_qs(body).items()}
            found = provider.token(sent)
            self.reply(found, 400 if "error" in found else 200)

        def reply(self, content: dict[str, Any], status: int = 200) -> None:
            whole = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def oidc_provider() -> Iterator[Provider]:
    """A provider at a free port of this machine."""
    provider = Provider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
