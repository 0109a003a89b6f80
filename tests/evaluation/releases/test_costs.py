"""Checking an altered release costs little more than checking the true one: at most 60 seconds and 500 MB."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection

from foretell import env
from tests.evaluation.releases.releases import built, files_of, flips, rebuilt, unpacks_alike
from tests.evaluation.reports.studies import small_study, stored

MOST_SECONDS, MOST_MB = 60, 500


def altered(whole: bytes) -> Iterator[bytes]:
    """The release with bytes changed in each file, with and without a manifest made to fit, and in the archive itself."""
    release, dice = io.BytesIO(whole), random.Random(26)
    for name, body in files_of(release).items():
        for manifest in (True, False):
            for changed in flips(body, 1, dice):
                yield rebuilt(
                    release, lambda new, name=name, changed=changed: new.update({name: changed}),  # type: ignore[misc]
                    manifest=manifest and name != "manifest.json",
                ).getvalue()  # fmt: skip
    packed = [*flips(whole, 20, dice), *(whole[:-3000] + end for end in flips(whole[-3000:], 60, dice))]
    yield from (body for body in packed if not unpacks_alike(body, whole))


@pytest.mark.django_db
def test_an_altered_release_costs_little_more_than_the_true_one(tmp_path: Path) -> None:
    """Checked in a process of its own; its peak of memory includes the true release, which is checked first."""
    whole = built(stored(small_study()))[1].getvalue()
    (tmp_path / "0000").write_bytes(whole)
    for number, body in enumerate(altered(whole), start=1):
        (tmp_path / f"{number:04d}").write_bytes(body)
    made = connection.settings_dict
    host = quote(made["HOST"], safe="") or "localhost"
    url = f"postgres://{made['USER']}:{quote(made['PASSWORD'])}@{host}:{made['PORT']}/{made['NAME']}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.evaluation.releases.costs", str(tmp_path)],
        cwd=env.ROOT, env={**os.environ, "DATABASE_URL": url}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    true, *others = json.loads(done.stdout.splitlines()[-1])
    assert not true["noticed"]
    assert len(others) > 100
    assert [one["file"] for one in others if not one["noticed"]] == []
    assert [one for one in others if one["seconds"] > true["seconds"] + MOST_SECONDS] == []
    assert max(one["peak"] for one in others) < true["peak"] + MOST_MB
