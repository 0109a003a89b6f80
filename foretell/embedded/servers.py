"""Both servers of one data directory. Their ports and passwords are stored beside the data."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foretell.embedded.postgres import Postgres
from foretell.embedded.process import free_port
from foretell.embedded.redis import Redis

LOG_LIMIT = 10_000_000
MADE_ONCE: dict[str, Callable[[], int | str]] = {
    "postgres_port": free_port,
    "postgres_superuser_password": lambda: secrets.token_urlsafe(24),
    "postgres_password": lambda: secrets.token_urlsafe(24),
    "redis_port": free_port,
    "redis_password": lambda: secrets.token_urlsafe(24),
    "provider_port": free_port,
    "stand_in_port": free_port,
    "secret_key": lambda: secrets.token_urlsafe(48),
}


class EmbeddedServers:
    """A Postgres and a Redis whose data, logs, ports and passwords are in ``data_dir``.

    The caller makes sure that only one process uses a data directory at a time (``make run`` holds a lock).
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        postgres_options: dict[str, str] | None = None,
        redis_options: dict[str, str] | None = None,
    ) -> None:
        self.data_dir = data_dir.resolve()
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.state_file = self.data_dir / "servers.json"
        logs = self.data_dir / "logs"
        logs.mkdir(mode=0o700, exist_ok=True)
        state = self._state()
        # Each server's folder belongs to the user that runs it, who has no access to the rest.
        (self.data_dir / "postgres").mkdir(mode=0o711, exist_ok=True)
        self.postgres = Postgres(
            directory=self.data_dir / "postgres" / "data",
            port=state["postgres_port"],
            superuser_password=state["postgres_superuser_password"],
            password=state["postgres_password"],
            log=_log(logs / "postgres.log"),
            options=postgres_options or {},
        )
        self.redis = Redis(
            directory=self.data_dir / "redis",
            port=state["redis_port"],
            password=state["redis_password"],
            log=_log(logs / "redis.log"),
            options=redis_options or {},
        )

    @property
    def secret_key(self) -> str:
        """A signing key, generated once for this data directory."""
        return str(self._state()["secret_key"])

    def start_postgres(self) -> str:
        """Start Postgres; return the value for ``DATABASE_URL``."""
        self.postgres.port = self.port("postgres_port")
        self.postgres.start()
        return self.postgres.url

    def start_redis(self) -> str:
        """Start Redis; return the value for ``REDIS_URL``."""
        self.redis.port = self.port("redis_port")
        self.redis.start()
        return self.redis.url

    def stop(self) -> None:
        self.redis.stop()
        self.postgres.stop()

    def remember(self, **values: str) -> None:
        """Store addresses for ``manage.py`` (``foretell/env.py`` reads them)."""
        state = self._state()
        if {**state, **values} != state:
            self._write({**state, **values})

    def port(self, key: str) -> int:
        """The port of last time, so that addresses stay the same, or another one if it's taken."""
        state = self._state()
        port = free_port(state[key])
        if port != state[key]:
            self._write({**state, key: port})
        return port

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {}
        with contextlib.suppress(FileNotFoundError):
            state = dict(json.loads(self.state_file.read_text()))
        missing = {key: make() for key, make in MADE_ONCE.items() if key not in state}
        if missing:
            state |= missing
            self._write(state)
        return state

    def _write(self, state: dict[str, Any]) -> None:
        """Write the state atomically, readable only by its owner, because it contains passwords."""
        new = self.state_file.with_suffix(".new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(state, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.state_file)


def _log(path: Path) -> Path:
    if path.exists() and path.stat().st_size > LOG_LIMIT:
        path.replace(path.with_suffix(".log.1"))
    return path
