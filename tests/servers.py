"""The Postgres and Redis of a test session."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

import psutil

from foretell.embedded import EmbeddedServers

PREFIX = "foretell-tests-"
# Deleted at the end of the session, so durability isn't needed.
FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "2GB",
    "max_connections": "200",
}


class SessionServers:
    """Start the servers that ``DATABASE_URL`` and ``REDIS_URL`` don't name, and set these variables."""

    def __init__(self) -> None:
        self.servers: EmbeddedServers | None = None
        self.directory: Path | None = None

    def start(self) -> None:
        sweep()
        self.directory = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        os.environ["DATA_DIR"] = str(self.directory / "data")  # nothing touches the data of `make run`
        self.servers = EmbeddedServers(
            self.directory / "servers", postgres_options=FAST, redis_options={"appendonly": "no"}
        )
        if not os.environ.get("DATABASE_URL"):
            os.environ["DATABASE_URL"] = self.servers.start_postgres()
        if not os.environ.get("REDIS_URL"):
            os.environ["REDIS_URL"] = self.servers.start_redis()

    def stop(self) -> None:
        if self.servers:
            self.servers.stop()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)


def sweep() -> None:
    """Remove the directories of sessions that were killed (their servers ended with them)."""
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = re.match(rf"{PREFIX}(\d+)-", directory.name)
        if owner and not psutil.pid_exists(int(owner[1])):
            shutil.rmtree(directory, ignore_errors=True)


def use_own_redis_and_files() -> None:
    """Give each xdist worker its own Redis database and files; pytest-django gives it a Postgres database."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw"):
        os.environ["DATA_DIR"] += f"-{worker}"
        base, _, _ = os.environ["REDIS_URL"].rpartition("/")
        with contextlib.suppress(ValueError):
            os.environ["REDIS_URL"] = f"{base}/{int(worker[2:]) + 1}"
