"""A backup that is written while people work, and a restore that is killed twice and goes on: nothing half, nothing double."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from annotator.models import Dataset, Judgment, Rater, Study, Workspace, WorkspaceMember
from evaluation.models import WorkspaceRestore
from evaluation.releases.contents import without_links
from tests.evaluation.moves.files import KEY
from tests.evaluation.moves.labs import all_rows, lab, other_lab, parts_of
from tests.evaluation.reports.studies import computed
from tests.factories import make_item, make_judgment, make_rater
from tests.processes import Process, shared_environment, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault]
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
WORKED = ("worked", "other-type")


class Command(Process):
    """``manage.py`` with these words, in a process that can be killed."""

    def __init__(self, folder: Path, *words: str) -> None:
        (folder / "key").write_bytes(KEY.secret)
        command = [sys.executable, "manage.py", *words, "--key-file", str(folder / "key")]
        super().__init__(command, folder / f"{words[0]}.log", shared_environment(DATA_DIR=str(folder)))

    def end(self) -> None:
        """Wait for its end, which must be a good one."""
        assert self.child is not None
        assert self.child.wait(500) == 0, self.text()


@contextmanager
def locked(table: str, mode: str = "SHARE") -> Iterator[Any]:
    """A lock that stops whoever comes to this table."""
    other = connection.copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN {mode} MODE")
        yield other
    finally:
        other.close()


def blocked() -> bool:
    """Whether a connection waits for a lock of another one."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return bool(cursor.fetchone()[0])


def killed_at(command: Command, table: str) -> None:
    """Run the command until it wants to write to a table, and kill it there."""
    with locked(table):
        command.start()
        wait_until(blocked, 300, f"the command waits for {table}\n{command.text()}")
        command.kill()
    wait_until(lambda: not blocked(), 300, "Postgres has noticed")


@pytest.fixture
def owls(tmp_path: Path, settings: Any) -> Workspace:
    files = tmp_path / "files"  # where a process has them whose DATA_DIR is the test's folder
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": files}}
    settings.STORAGES = settings.STORAGES | {"default": storage}
    return lab()


def test_a_backup_is_of_one_moment_and_a_killed_one_leaves_no_file(owls: Workspace, tmp_path: Path) -> None:
    path, live = tmp_path / "owls.backup", Study.objects.get(slug="live")
    before = live.judgments.count()
    backup = Command(tmp_path, "workspace_backup", owls.name, str(path))
    with locked("evaluation_reportfile", "ACCESS EXCLUSIVE"):
        backup.start()
        wait_until(blocked, 300, "the backup has begun")
        backup.kill()
    assert not path.exists()
    with locked("evaluation_reportfile", "ACCESS EXCLUSIVE"):
        backup.start()
        wait_until(blocked, 300, "the backup has begun")
        make_judgment(make_item(live, key="new"), make_rater("late"))  # nobody has to stop working
    backup.end()
    assert live.judgments.count() == before + 1
    rows = [line["row"] for line in parts_of(path)["live"] if line.get("table") == "annotator.judgment"]
    assert len(rows) == before
    assert {one.name for one in tmp_path.iterdir()} >= {path.name}
    assert not list(tmp_path.glob("*.partial"))


def test_a_restore_that_is_killed_twice_goes_on_and_makes_nothing_twice(
    owls: Workspace, tmp_path: Path
) -> None:
    other_lab()
    path, words = tmp_path / "owls.backup", ("--as", "Again")
    backup = Command(tmp_path, "workspace_backup", owls.name, str(path))
    backup.start()
    backup.end()
    reports = [without_links(computed(Study.objects.get(slug=slug)).content) for slug in WORKED]
    total, people = Judgment.objects.count(), Rater.objects.count()
    before = all_rows()
    restore = Command(tmp_path, "workspace_restore", str(path), *words)

    killed_at(restore, "annotator_judgment")  # of the first study
    begun = WorkspaceRestore.objects.get()
    assert (begun.studies, begun.workspace.studies.count()) == ({}, 0), "no half study"
    assert begun.workspace.endpoints.count() == owls.endpoints.count(), "the workspace's own rows are there"
    assert not WorkspaceMember.objects.filter(workspace=begun.workspace).exists()

    killed_at(restore, "annotator_paybatch")  # of the first study, again
    assert Judgment.objects.count() == total

    killed_at(restore, "annotator_assignment")  # of the live study, the third
    begun.refresh_from_db()
    assert len(begun.studies) == begun.workspace.studies.count() == 2

    restore.start()
    restore.end()
    assert "Restored the workspace Again with 6 studies." in restore.text()
    begun.refresh_from_db()
    assert begun.finished_at is not None
    assert WorkspaceRestore.objects.count() == 1
    assert begun.workspace.studies.count() == owls.studies.count() == 6
    assert Judgment.objects.count() == 2 * total
    assert Rater.objects.count() == people, "on the same installation they are the same people"
    of_both = [Dataset.objects.filter(workspace=one).count() for one in (owls, begun.workspace)]
    assert of_both[0] == of_both[1]
    again = [without_links(computed(Study.objects.get(slug=f"{slug}-2")).content) for slug in WORKED]
    assert _same_figures(again) == _same_figures(reports)
    after = all_rows()
    changed = {table for table, rows in before.items() if rows - after[table]}
    assert changed == set(), "no row that was here is another"
    assert restore.child is not None
    restore.start()
    assert restore.child.wait(300) != 0
    assert "there is a workspace named Again here already, restored from this backup" in restore.text()


def _same_figures(contents: list[Any]) -> str:
    """The figures of reports, without the short names of their studies and digests, of which those are part."""
    text = re.sub("'[0-9a-f]{64}'", "", repr(contents))
    for slug in WORKED:
        text = text.replace(f"{slug}-2", slug)
    return text
