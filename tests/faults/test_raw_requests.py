"""Bytes that no browser sends, on a socket of a real web process: each gets one reply of 4xx, and the next visitor is served."""

from __future__ import annotations

import socket
import urllib.request
from contextlib import suppress

import pytest

from annotator.services.api_tokens import api_token_make
from tests.factories import make_user
from tests.processes import WebProcess

pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]
CLOSE = b"Host: 127.0.0.1\r\nConnection: close\r\n"
FORM = b"POST /login/ HTTP/1.1\r\n" + CLOSE
API = b"POST /api/v1/studies/ HTTP/1.1\r\n" + CLOSE + b"Content-Type: application/json\r\n"
LOGIN = b"GET /login/ HTTP/1.1\r\n" + CLOSE

#: name -> (bytes, the statuses that are right)
REFUSED: dict[str, tuple[bytes, set[int]]] = {
    "two lengths": (FORM + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", {400}),
    "a negative length": (FORM + b"Content-Length: -4\r\n\r\nabcde", {400}),
    "a huge length": (FORM + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nabcde", {400}),
    "a length and chunks": (
        FORM + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        {400, 403},
    ),
    "a broken chunk": (API + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc\r\n", {400, 401, 403}),
    "a long address": (b"GET /login/?" + b"a" * 200_000 + b" HTTP/1.1\r\n" + CLOSE + b"\r\n", {414}),
    "a long header": (LOGIN + b"X-A: " + b"a" * 600_000 + b"\r\n\r\n", {431}),
    "many headers": (LOGIN + b"".join(b"X-%d: a\r\n" % n for n in range(5000)) + b"\r\n", {431}),
    "another host": (b"GET /login/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", {400}),
    "no host": (b"GET /login/ HTTP/1.1\r\nConnection: close\r\n\r\n", {400}),
    "an unknown method": (b"FROB /login/ HTTP/1.1\r\n" + CLOSE + b"\r\n", {403, 405}),
    "a token that is no text": (
        b"GET /api/v1/studies/ HTTP/1.1\r\n" + CLOSE + b"Authorization: Token \xff\xfe\r\n\r\n",
        {400, 401},
    ),
    "a path out of the static files": (b"GET /static/..%2f..%2fREADME.md HTTP/1.1\r\n" + CLOSE + b"\r\n", {404}),
    "many fields": (
        FORM + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 160000\r\n\r\n" + b"a=1&b=2&" * 20_000,
        {400, 403},
    ),
    "another protocol": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50, {400}),
}  # fmt: skip

#: JSON that no program should send, from somebody with a token.
JSON = {
    "endless numbers": b'{"slug":"a","title":"T","hit_type":"simulation","redundancy":1e999,"lease_minutes":NaN}',
    "a huge number": b'{"slug":"a","title":"T","hit_type":"simulation","redundancy":' + b"9" * 10_000 + b"}",
    "half characters": b'{"slug":"abc","hit_type":"simulation","title":"\\ud800 \\u0000","consent_text":"\\udfff"}',
    "a list": b"[1, 2]",
    "deep": b"[" * 1_000_000,
    "another encoding": '{"slug":"x"}'.encode("utf-16"),
    "no text": b"\xff\xfe\x00",
}


def replies(port: int, sent: bytes) -> list[int]:
    """The statuses of all replies on one connection."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        # The server may reply and close before it has read everything. Its reply can then still be received.
        with suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(sent)
        with suppress(ConnectionResetError):
            while part := connection.recv(65536):
                received += part
    return [int(line.split()[1]) for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.")]


def test_ambiguous_and_oversized_requests_are_refused(web_process: WebProcess) -> None:
    web_process.environment["ALLOWED_HOSTS"] = "127.0.0.1"
    web_process.kill()
    web_process.start()
    wrong = {}
    for name, (sent, right) in REFUSED.items():
        found = replies(web_process.port, sent)
        if len(found) != 1 or found[0] not in right:
            wrong[name] = found
    assert wrong == {}
    assert urllib.request.urlopen(f"{web_process.url}/healthz").status == 200
    assert not [
        line for line in web_process.text().splitlines() if " ERROR " in line and "DisallowedHost" not in line
    ]


def test_json_that_no_program_should_send_is_refused(web_process: WebProcess) -> None:
    token = api_token_make(user=make_user("ada", staff=True), may_write=True).encode()
    wrong = {}
    for name, body in JSON.items():
        head = API + b"Authorization: Token " + token + b"\r\nContent-Length: %d\r\n\r\n" % len(body)
        found = replies(web_process.port, head + body)
        if found != [400]:
            wrong[name] = found
    assert wrong == {}
    assert urllib.request.urlopen(f"{web_process.url}/healthz").status == 200
