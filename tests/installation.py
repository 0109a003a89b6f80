"""A complete `make run` in its own directory, which a test may use or kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg

from foretell import env
from foretell.embedded import EmbeddedServers
from foretell.embedded.process import free_port, processes_in
from foretell.supervisor import marked
from tests.foretell.env_names import names_read
from tests.processes import wait_until


class Installation:
    """One data directory and the `make run` on it. ``settings`` override the defaults, which keep it small."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.data = directory / "data"
        self.log = directory / "run.log"
        self.port = free_port()
        self.settings = {"DEMO": "0", "WEB_WORKERS": "1", "WORKER_CONCURRENCY": "1", **settings}
        #: How it is started, and where: from a checkout, or from an installed wheel.
        self.command = [sys.executable, "-m", "foretell.run"]
        self.folder = env.ROOT
        self.child: subprocess.Popen[bytes] | None = None

    def environment(self) -> dict[str, str]:
        clean = {key: value for key, value in os.environ.items() if key not in names_read()}
        return {**clean, "DATA_DIR": str(self.data), "PORT": str(self.port), **self.settings}

    def launch(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as output:
            return subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> float:
        """Seconds to the first page."""
        began = time.monotonic()
        self.child = self.launch()
        wait_until(self.serves, 300, "the first page")
        seconds = time.monotonic() - began
        wait_until(lambda: self.find("celery"), 300, "the worker")
        return seconds

    def serves(self) -> bool:
        assert self.child is not None
        assert self.child.poll() is None, self.log.read_text()
        try:
            page = urllib.request.urlopen(f"{self.url}/healthz", timeout=20)
            return page.read() == b'{"database": "ok", "redis": "ok"}'
        except (OSError, urllib.error.URLError):
            return False

    def stop(self) -> int:
        assert self.child is not None
        self.child.send_signal(signal.SIGTERM)
        try:
            return self.child.wait(300)
        except subprocess.TimeoutExpired:
            self.child.send_signal(signal.SIGUSR1)  # it prints where it waits
            time.sleep(2)
            left = [(process.pid, process.name(), process.status()) for process in self.ours()]
            raise AssertionError(f"still running: {left}\n{self.log.read_text()}") from None

    def kill(self) -> None:
        assert self.child is not None
        self.child.kill()
        self.child.wait()

    # --- its processes

    def ours(self) -> list[psutil.Process]:
        servers = processes_in(self.data / "postgres/data", "postgres")
        return [*servers, *processes_in(self.data / "redis", "redis-server"), *marked(self.data.resolve())]

    def command_lines(self) -> dict[psutil.Process, str]:
        """The name and the arguments of each process of ours that still runs."""
        lines = {}
        for process in self.ours():
            with suppress(psutil.Error):
                lines[process] = " ".join([process.name(), *process.cmdline()])
        return lines

    def find(self, word: str) -> list[psutil.Process]:
        found = [process for process, line in self.command_lines().items() if word in line]
        return sorted(found, key=lambda process: process.create_time())

    def main(self, word: str) -> psutil.Process:
        """The process of that name whose parent is the supervisor."""
        assert self.child is not None
        (process,) = [process for process in self.find(word) if process.ppid() == self.child.pid]
        return process

    def main_or_none(self, word: str) -> psutil.Process | None:
        try:
            return self.main(word)
        except (ValueError, psutil.Error):
            return None

    # --- its data

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(EmbeddedServers(self.data).postgres.url, autocommit=True)

    def notes(self) -> list[str]:
        with self.connect() as connection:
            return [row[0] for row in connection.execute("SELECT text FROM note ORDER BY id")]

    def note(self, text: str) -> None:
        with self.connect() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS note (id serial, text text)")
            connection.execute("INSERT INTO note (text) VALUES (%s)", [text])
