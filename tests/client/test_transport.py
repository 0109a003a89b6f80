"""What the client does with errors, retries, pages and its token, against a server that answers as it's told."""

from __future__ import annotations

import ast
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import foretell_client
import pytest
from foretell_client import BadRequest, Busy, Foretell, NotAllowed, Unreachable
from foretell_client.transport import Transport

from foretell.embedded.process import free_port

TOKEN = "0123456789abcdef-secret"


class Server(ThreadingHTTPServer):
    """Answers with what it was given, in order; the last answer is repeated."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, Any, dict[str, str]]] = []
        self.asked: list[tuple[str, str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization", "")))
        found = self.server.answers
        status, body, headers = found.pop(0) if len(found) > 1 else found[0]
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    thread = threading.Thread(target=found.serve_forever, args=(0.01,))
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def http(server: Server, slept: list[float]) -> Iterator[Transport]:
    transport = Transport(server.url, TOKEN, sleep=slept.append, attempts=3)
    yield transport
    transport.close()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    server: Server, http: Transport, slept: list[float], status: int
) -> None:
    server.answers = [(status, {}, {"Retry-After": "7"}), (status, {}, {}), (200, {"slug": "owls"}, {})]
    assert http.json("GET", "studies/owls/") == {"slug": "owls"}
    assert slept[0] == 7
    assert len(server.asked) == 3


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_what_is_not_safe_to_repeat_is_sent_once(server: Server, http: Transport, method: str) -> None:
    server.answers = [(503, {"detail": "the database is unavailable"}, {"Retry-After": "2"})]
    with pytest.raises(Busy, match="the database is unavailable") as raised:
        http.json(method, "studies/", body={})
    assert raised.value.retry_after == 2
    assert len(server.asked) == 1


def test_a_wait_that_is_too_long_is_an_error_at_once(
    server: Server, http: Transport, slept: list[float]
) -> None:
    server.answers = [(429, {"title": "Too Many Requests"}, {"Retry-After": "3600"})]
    with pytest.raises(Busy, match="429 Too Many Requests"):
        http.json("GET", "studies/")
    assert (slept, len(server.asked)) == ([], 1)


def test_other_errors_are_not_retried_and_say_what_is_wrong(server: Server, http: Transport) -> None:
    fault = {"file": "a.csv", "line": 14, "field": "label", "value": "Maybe", "expected": "yes or no"}
    server.answers = [(400, {"detail": "Nothing was imported.", "total": 300, "faults": [fault]}, {})]
    with pytest.raises(BadRequest) as raised:
        http.json("GET", "x/")
    assert str(raised.value) == (
        "400 Bad Request: Nothing was imported.\n  a.csv, line 14, label: found 'Maybe', yes or no\n  and 299 more"
    )
    server.answers = [(403, {"detail": "This token may not change anything."}, {})]
    with pytest.raises(NotAllowed, match="may not change anything"):
        http.json("GET", "x/")
    server.answers = [(502, b"<html>upstream</html>", {"Content-Type": "text/html"})]
    with pytest.raises(foretell_client.ApiError, match=r"^502 Bad Gateway$"):
        http.json("GET", "x/")
    assert len(server.asked) == 3


def test_no_reply_is_an_error_without_the_token(slept: list[float]) -> None:
    lost = Transport(f"http://127.0.0.1:{free_port()}", TOKEN, sleep=slept.append, attempts=2)
    with pytest.raises(Unreachable, match="did not reply") as raised:
        lost.json("GET", "studies/")
    assert len(slept) == 1
    assert TOKEN not in repr(raised.value) + repr(lost)


def test_pages_are_fetched_one_after_the_other_from_the_same_server(server: Server, http: Transport) -> None:
    elsewhere = "https://elsewhere.example/api/v1/studies/?cursor=abc&page_size=2"
    server.answers = [
        (200, {"next": elsewhere, "results": [1, 2]}, {}),
        (200, {"next": None, "results": [3]}, {}),
    ]
    found = http.pages("GET", "studies/", query={"page_size": 2})
    assert next(found) == 1
    assert len(server.asked) == 1
    assert list(found) == [2, 3]
    assert server.asked[1] == ("GET", "/api/v1/studies/?cursor=abc&page_size=2", f"Token {TOKEN}")


def test_redirects_are_not_followed(server: Server, http: Transport) -> None:
    server.answers = [(302, {}, {"Location": "https://elsewhere.example/"})]
    with pytest.raises(foretell_client.ApiError, match="302 Found"):
        http.json("GET", "studies/")


def test_a_file_is_written_whole_or_not_at_all(server: Server, http: Transport, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    server.answers = [(200, b'{"a": 1}\n{"a": 2}', {})]
    assert list(http.download("GET", "x/").rows()) == [{"a": 1}, {"a": 2}]
    http.download("GET", "x/").save(file)
    assert file.read_bytes() == b'{"a": 1}\n{"a": 2}'
    server.answers = [(404, {"detail": "no such file"}, {})]
    with pytest.raises(foretell_client.NotFound):
        http.download("GET", "x/").save(file)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_addresses_and_tokens_that_cannot_be_right_are_refused() -> None:
    for url, token in (
        ("http://lab.example", TOKEN),
        ("lab.example", TOKEN),
        ("https://lab.example", ""),
        ("https://lab.example", "a\nb"),
    ):
        with pytest.raises(ValueError, match=r"token|address"):
            Foretell(url, token)
    assert TOKEN not in repr(Foretell("http://lab.example", TOKEN, allow_http=True))


def test_it_imports_only_httpx_and_the_standard_library() -> None:
    """``pandas`` is imported where it is there, in one function."""
    found = set()
    for path in Path(foretell_client.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
    assert found - sys.stdlib_module_names == {"httpx2", "foretell_client", "pandas"}
