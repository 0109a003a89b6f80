"""Reports, releases, exports and live pages read a streaming replica, never one that is behind, and do without it if it is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foretell import env
from foretell.embedded import EmbeddedServers
from foretell.embedded.postgres import Postgres
from tests.foretell.env_names import names_read
from tests.replica import replica_make, superuser_url
from tests.servers import FAST

pytestmark = pytest.mark.fault
# As in every test, but with the log that a replica needs.
OPTIONS = {
    name: value for name, value in FAST.items() if not name.startswith(("wal_level", "max_wal_senders"))
}


class Pair:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.servers = EmbeddedServers(directory / "data", postgres_options=OPTIONS)
        self.url = self.servers.start_postgres()
        self.copy: Postgres = replica_make(self.servers.postgres, directory / "replica")

    def run(self, *command: str, code: int = 0) -> str:
        clean = {key: value for key, value in os.environ.items() if key not in names_read()}
        environment = clean | {
            "DATABASE_URL": self.url, "DATABASE_REPLICA_URL": self.copy.url, "DATA_DIR": str(self.directory / "files"),
            "REPLICA_SUPERUSER_URL": superuser_url(self.copy), "DJANGO_SETTINGS_MODULE": "foretell.settings",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, *command],
            cwd=env.ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr[-3000:] + done.stdout[-3000:]
        return done.stdout

    def steps(self, name: str) -> dict[str, Any]:
        found = json.loads(self.run("-m", "tests.faults.replica_steps", name).splitlines()[-1])
        assert isinstance(found, dict)
        return found


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(tmp_path)
    try:
        yield pair
    finally:
        pair.copy.stop()
        pair.servers.stop()


def test_a_replica_is_read_while_it_is_current_and_missed_by_nobody(pair: Pair) -> None:
    pair.run("manage.py", "migrate", "--verbosity", "0")
    found = pair.steps("with")
    for what in ("report", "release", "export", "live"):
        assert found[what]["replica"] > 0, (what, found)
    assert found["rows"] > 0
    assert not found["current while behind"]
    assert found["live while behind"]["replica"] == 0
    assert found["current afterwards"]
    assert found["written"] == "for this test"
    assert "follows the primary" in pair.run(
        "manage.py", "doctor", code=1
    )  # it has neither Redis nor a worker
    pair.copy.stop()
    alone = pair.steps("without")
    assert alone["rows"] == found["rows"]
    assert alone["report"]["replica"] == 0
    assert "The replica doesn't answer" in pair.run(
        "manage.py", "doctor", code=1
    )  # it has neither Redis nor a worker
