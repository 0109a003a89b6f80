"""An upgrade while people work: old and new code serve the same database, and no answer fails.

The old code is the commit of this repository that ``deploy/initial-migrations`` noted, and the database is the one that it stored.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from foretell import env
from foretell.earlier_database import LAST_WITH_STEPS
from tests.databases import address, empty_database, schema, stored_load
from tests.faults.http_annotator import Annotator
from tests.processes import WebProcess, shared_environment, wait_until

UPGRADE_FROM = LAST_WITH_STEPS.removeprefix("commit ")
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
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


@pytest.fixture
def database() -> Iterator[str]:
    with empty_database("upgraded") as url:
        stored_load(url)
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
    token, slug = run(old_code, database, "-c", MAKE_STUDY).split()
    old, new = (WebProcess(tmp_path, DATABASE_URL=database, WEB_WORKERS="1") for _ in range(2))
    old.code = old_code
    old.command = [sys.executable, "-m", "foretell.serve", "web"]  # as that version starts it
    old.environment["PORT"] = str(old.port)
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
        # Their sessions and the tasks that they have in hand continue with the new version.
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
        ours = "annotator_judgment WHERE study_id = (SELECT id FROM annotator_study WHERE slug = %s)"
        stored = {pk for (pk,) in rows.execute(f"SELECT assignment_id FROM {ours}", [slug])}
        per_item = rows.execute(
            f"SELECT max(n) FROM (SELECT count(*) n FROM {ours} GROUP BY item_id) AS items", [slug]
        ).fetchone()
    assert len(taken) == len(set(taken)) > ITEMS
    assert set(taken) == stored, "nothing lost, and nothing stored that wasn't acknowledged"
    assert per_item is not None
    assert per_item[0] <= REDUNDANCY


def rows(url: str) -> dict[str, int]:
    """Table -> how many rows it has, for the tables of the stored database."""
    with psycopg.connect(url) as database:
        return {
            table: (
                database.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
                or (0,)
            )[0]
            for (table,) in database.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^(annotator|evaluation)_' ORDER BY 1"
            ).fetchall()
        }


JUDGMENTS = "SELECT id, assignment_id, item_id, rater_id, response::text, created_at FROM annotator_judgment ORDER BY id"


def test_a_database_of_the_last_version_keeps_its_rows_and_gets_the_tables_of_a_new_one(
    database: str,
) -> None:
    before = rows(database)
    assert sum(number > 0 for number in before.values()) > 35, "most tables have rows"
    with psycopg.connect(database) as connected:
        judgments = connected.execute(JUDGMENTS).fetchall()
    run(env.ROOT, database, "manage.py", "migrate", "--verbosity", "0")
    assert {table: number for table, number in rows(database).items() if table in before} == before
    with psycopg.connect(database) as connected:
        assert connected.execute(JUDGMENTS).fetchall() == judgments != []
    assert schema(database) == schema(address(connection.settings_dict["NAME"]))
    # What the models can't declare.
    with psycopg.connect(database) as connected, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connected.execute("DELETE FROM annotator_auditentry")


def test_a_database_that_is_too_old_names_the_version_that_can_upgrade_it(database: str) -> None:
    with psycopg.connect(database) as connected:
        connected.execute("DELETE FROM django_migrations WHERE name = '0020_fine_tuning_record'")
    environment = shared_environment(DATABASE_URL=database)
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate"],
        cwd=env.ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"Upgrade first with Foretell of {LAST_WITH_STEPS}" in done.stderr
    assert "evaluation.0020_fine_tuning_record isn't applied" in done.stderr
