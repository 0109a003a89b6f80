"""Fine-tuning at servers whose replies are not those of the protocol."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from annotator.core.outgoing.hosts import HostPolicy
from evaluation.providers.apis.openai import Jobs, OpenAI
from evaluation.providers.base import ProviderError
from evaluation.providers.client import client_of
from evaluation.providers.contract import Access, FineTuner

HTML = "<html><body>Please log in to the network</body></html>"
ASK: dict[str, Callable[[FineTuner], Coroutine[Any, Any, Any]]] = {
    "file": lambda tuner: tuner.file_send(b"{}\n"),
    "find": lambda tuner: tuner.job_find("file-1"),
    "begin": lambda tuner: tuner.job_begin(file_id="file-1", model="m", suffix="s", epochs=1),
    "read": lambda tuner: tuner.job_read("ftjob-1"),
    "cancel": lambda tuner: tuner.job_cancel("ftjob-1"),
}


class Handler(BaseHTTPRequestHandler):
    reply: ClassVar[tuple[int, str, bytes]] = (200, "application/json", b"{}")

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        status, kind, body = self.reply
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if 300 <= status < 400:
            self.send_header("location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer

    def log_message(self, *args: Any) -> None:
        """Nothing is logged."""


@pytest.fixture
def server() -> Iterator[str]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"127.0.0.1:{running.server_port}"
    running.shutdown()
    thread.join()
    running.server_close()


def asked(host: str, name: str) -> Any:
    async def main() -> Any:
        policy = HostPolicy.from_entries([host], only=False)
        client = client_of(
            OpenAI(), Access(base_url=f"http://{host}/v1", key="k", policy=policy, timeout=60.0, headers={})
        )
        try:
            return await ASK[name](Jobs(client))
        finally:
            await client.aclose()

    return asyncio.run(main())


@pytest.mark.parametrize("name", ASK)
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", HTML),
        ("application/json", HTML),
        ("application/json", "[]"),
        ("application/json", "null"),
        ("application/json", "7"),
        ("application/json", "{}"),
        ("application/json", '{"id": null, "data": null}'),
        ("application/json", '{"id": 7, "status": [], "data": {"a": 1}}'),
        ("application/json", json.dumps({"id": "x" * 500, "status": "running", "data": "jobs"})),
        ("text/plain", "ok"),
    ],
)
def test_a_reply_that_is_no_file_or_job_is_an_error_in_words(
    kind: str, body: str, name: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Handler, "reply", (200, kind, body.encode()))
    with pytest.raises(ProviderError) as caught:
        asked(server, name)
    assert caught.value.kind == "invalid_reply", caught.value
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("name", ASK)
def test_a_redirect_is_not_followed(name: str, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handler, "reply", (302, "text/html", b""))
    with pytest.raises(ProviderError, match="redirect") as caught:
        asked(server, name)
    assert caught.value.kind == "refused_host"


@pytest.mark.parametrize("name", ASK)
def test_a_reply_without_end_is_cut_off(name: str, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"id": "ftjob-1", "status": "running", "note": "x" * 2_000_000}).encode()
    monkeypatch.setattr(OpenAI, "most_bytes", 1_000_000)
    monkeypatch.setattr(Handler, "reply", (200, "application/json", body))
    with pytest.raises(ProviderError) as caught:
        asked(server, name)
    assert caught.value.kind == "too_large", caught.value


def test_an_odd_but_readable_job_is_read(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = {
        "id": "ftjob-1",
        "status": "paused",
        "trained_tokens": -4,
        "fine_tuned_model": None,
        "error": "none",
    }
    monkeypatch.setattr(Handler, "reply", (200, "application/json", json.dumps(job).encode()))
    found = asked(server, "read")
    assert (found.state, found.reported, found.tokens) == ("running", "paused", None)
