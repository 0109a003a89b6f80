"""The Postgres and Redis of one test session, and Django processes beside the tests."""

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
# Thrown away at the end of the session, so nothing needs to survive a power cut.
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
    """Starts what ``DATABASE_URL`` and ``REDIS_URL`` do not name, and says so to everything started later."""

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
    """Removes the directories of sessions that were killed (their servers died with them)."""
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = re.match(rf"{PREFIX}(\d+)-", directory.name)
        if owner and not psutil.pid_exists(int(owner[1])):
            shutil.rmtree(directory, ignore_errors=True)


def own_share() -> None:
    """Under xdist every worker gets its own Redis database and files; pytest-django names Postgres ones."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw"):
        os.environ["DATA_DIR"] += f"-{worker}"
        base, _, _ = os.environ["REDIS_URL"].rpartition("/")
        with contextlib.suppress(ValueError):
            os.environ["REDIS_URL"] = f"{base}/{int(worker[2:]) + 1}"
