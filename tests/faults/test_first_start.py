"""The first start of `make run` with the demo: pages are served before the demo is loaded, and show its progress."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from tests.installation import Installation
from tests.processes import wait_until

pytestmark = pytest.mark.fault


def test_the_demo_is_loaded_behind_the_first_page(tmp_path: Path) -> None:
    installation = Installation(tmp_path, DEMO="1")
    installation.start()
    try:
        assert "the demo studies are loaded" not in installation.log.read_text()
        page = urllib.request.urlopen(installation.url).read().decode()
        assert "The demo studies are being loaded" in page
        installation.kill()  # the next start resumes where this one stopped
        wait_until(lambda: not installation.ours(), 300, "every process has ended")
        installation.start()
        wait_until(
            lambda: "the demo studies are loaded" in installation.log.read_text(), 1200, "the demo is loaded"
        )
        entrances = json.loads((installation.data / "demo.json").read_text())
        assert len(entrances) > 3
        log = installation.log.read_text().rpartition("the demo studies are loaded")[2]
        assert all(entrance["password"] in log for entrance in entrances if "password" in entrance)
        assert entrances[0]["url"] in log
        demo_log = (installation.data / "logs" / "demo.log").read_text()
        assert not [one for one in entrances if one.get("password") and one["password"] in demo_log]
        assert "being loaded" not in urllib.request.urlopen(installation.url).read().decode()
        with installation.connect() as database:
            assert database.execute(
                "SELECT count(*) FROM evaluation_report WHERE state <> 'done'"
            ).fetchone() == (0,)
            assert (database.execute("SELECT count(*) FROM evaluation_report").fetchone() or (0,))[0] > 0
            assert database.execute(
                "SELECT count(*) FROM evaluation_run WHERE state <> 'done'"
            ).fetchone() == (0,)
    finally:
        installation.stop()
