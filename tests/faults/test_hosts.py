"""As if on several machines: two of each process, a pooler before the web processes, a replica; one of each is killed in turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.soak.plan import VICTIMS, Plan
from benchmarks.soak.pooler import pgbouncer
from benchmarks.soak.run import balances, soak_run
from benchmarks.soak.setups import Hosts
from tests.foretell.env_names import names_read

pytestmark = pytest.mark.fault
#: With this seed one of each is killed once.
SEED = 19035


def test_one_of_each_killed_in_turn_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not pgbouncer():
        pytest.skip("there is no pgbouncer, and it can't be installed: not root, or no apt-get")
    for name in (*names_read(), "DJANGO_SETTINGS_MODULE"):
        monkeypatch.delenv(name, raising=False)
    plan = Plan(SEED, "hosts", annotators=8, places=60, kills=10)
    hosts = Hosts(tmp_path)
    try:
        hosts.start()
        result = soak_run(plan, hosts, seconds=1800)
    finally:
        hosts.stop()
    assert balances(plan, result), json.dumps(result)
    assert result["kills"] == dict.fromkeys(VICTIMS["hosts"], 1)
    assert "login attempt: db=foretell user=foretell" in (tmp_path / "pgbouncer.log").read_text()
