"""An upgrade while people work: old and new code serve the same database, and no answer fails.

The old code is the commit ``UPGRADE_FROM`` of this repository. When a version is released, set it to that version.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from foretell import env
from tests.databases import address, empty_database, schema
from tests.faults.http_annotator import Annotator
from tests.processes import WebProcess, shared_environment, wait_until

UPGRADE_FROM = "4373285f247c26ef7406f20bf571677dc2b49641"
ITEMS, REDUNDANCY = 40, 3
pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]
MAKE_STUDY = f"""
import django; django.setup()
from tests.factories import make_study
study = make_study(items={ITEMS}, redundancy={REDUNDANCY}, launched=True)
print(study.join_token, study.slug)
"""


@pytest.fixture(scope="module")
def old_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the old version."""
    archive = subprocess.run(["git", "archive", UPGRADE_FROM], cwd=env.ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"this clone doesn't have commit {UPGRADE_FROM[:12]}: git fetch --unshallow")
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.fixture
def database() -> Iterator[str]:
    with empty_database("upgraded") as url:
        yield url


def run(code: Path, database: str, *arguments: str) -> str:
    environment = shared_environment(DATABASE_URL=database, DJANGO_SETTINGS_MODULE="foretell.settings")
    done = subprocess.run(
        [sys.executable, *arguments], cwd=code, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_people_submit_while_the_tables_change_and_two_versions_serve(
    old_code: Path, database: str, tmp_path: Path
) -> None:
    run(old_code, database, "manage.py", "migrate", "--verbosity", "0")
    token, slug = run(old_code, database, "-c", MAKE_STUDY).split()
    old, new = (WebProcess(tmp_path, DATABASE_URL=database, WEB_WORKERS="1") for _ in range(2))
    old.code = old_code
    groups = [[Annotator(web.url, token, slug) for _ in range(5)] for web in (old, new)]
    threads: list[threading.Thread] = []

    def begin(group: list[Annotator]) -> None:
        for person in group:
            threads.append(threading.Thread(target=person.work, args=(12,), daemon=True))
            threads[-1].start()

    def acknowledged(group: list[Annotator]) -> int:
        return sum(len(person.acknowledged) for person in group)

    try:
        old.start()
        begin(groups[0])
        wait_until(lambda: acknowledged(groups[0]) >= 5, 300, "people work with the old version")
        run(env.ROOT, database, "manage.py", "migrate", "--verbosity", "0")
        upgraded, new_one = schema(database), schema(address(connection.settings_dict["NAME"]))
        assert len(new_one) > 800
        assert upgraded == new_one, "a database that is upgraded step by step differs from a new one"
        after_migration = acknowledged(groups[0])
        new.start()
        begin(groups[1])
        wait_until(lambda: acknowledged(groups[1]) >= 5, 300, "people work with the new version")
        # Their sessions and the tasks that they have in hand go on with the new version.
        for person in groups[0]:
            person.client.base_url = new.url
        old.stop()
        for thread in threads:
            thread.join(900)
    finally:
        old.stop()
        new.stop()
    people = [*groups[0], *groups[1]]
    statuses = sum((person.statuses for person in people), start=type(people[0].statuses)())
    assert not [code for code in statuses if code >= 500], (statuses, old.text()[-3000:], new.text()[-3000:])
    assert not [code for code in statuses if code in (409, 422)], statuses
    assert after_migration >= 5
    taken = [pk for person in people for pk in person.acknowledged]
    with psycopg.connect(database) as rows:
        stored = {pk for (pk,) in rows.execute("SELECT assignment_id FROM annotator_judgment")}
        per_item = rows.execute(
            "SELECT max(n) FROM (SELECT count(*) n FROM annotator_judgment GROUP BY item_id) AS items"
        ).fetchone()
    assert len(taken) == len(set(taken)) > ITEMS
    assert set(taken) == stored, "nothing lost, and nothing stored that wasn't acknowledged"
    assert per_item is not None
    assert per_item[0] <= REDUNDANCY
