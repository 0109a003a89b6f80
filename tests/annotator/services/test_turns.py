"""Workspaces take turns at long jobs, whatever the order of the messages."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from annotator import tasks
from annotator.core import jobs
from annotator.models import Export, User, Workspace
from annotator.services.exports import export_request
from annotator.services.turns import KINDS, PAUSE, Kind, Work, in_turn
from annotator.services.workspace import workspace_limits_set, workspace_personal
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


class Queue:
    """Rows named by number, each of a workspace, and what was done in which order."""

    def __init__(self, **owners: int) -> None:
        self.owners = {int(name.removeprefix("row")): owner for name, owner in owners.items()}
        self.done: list[int] = []
        self.messages: list[int] = []

    def kind(self) -> Kind:
        def again(work: Work) -> None:
            self.messages.append(work.pk)

        return Kind(self.owners.get, self.waiting, lambda work: self.carry_out(work.pk), again)

    def waiting(self) -> dict[int, Work]:
        left = sorted((pk for pk in self.owners if pk not in self.done), reverse=True)
        return {self.owners[pk]: Work("test", pk) for pk in left}

    def carry_out(self, pk: int) -> str:
        if pk in self.done:
            return ""
        self.done.append(pk)
        return f"did {pk}"

    def work_through(self) -> list[int]:
        """As one worker would; returns the rows in the order in which they were done."""
        while self.messages:
            in_turn(Work("test", self.messages.pop(0)))
        return self.done


@pytest.fixture
def labs(researcher: User) -> tuple[Workspace, Workspace]:
    return workspace_personal(user=researcher), workspace_personal(user=make_user("otto", staff=True))


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Queue]:
    def make(**owners: int) -> Queue:
        made = Queue(**owners)
        monkeypatch.setattr("annotator.services.turns.KINDS", {"test": made.kind()})
        monkeypatch.setattr("annotator.services.turns.PAUSE", timedelta(0))
        made.messages = sorted(made.owners)
        return made

    return make


def test_one_job_of_another_lab_does_not_wait_for_a_hundred(
    labs: tuple[Workspace, Workspace], queue: Callable[..., Queue]
) -> None:
    busy, other = labs
    made = queue(**{f"row{n}": busy.pk for n in range(100)}, row100=other.pk)
    done = made.work_through()
    assert sorted(done) == list(range(101)), "each is done, once"
    assert done.index(100) <= 1


def test_two_labs_alternate(labs: tuple[Workspace, Workspace], queue: Callable[..., Queue]) -> None:
    one, two = labs
    made = queue(**{f"row{n}": one.pk for n in range(10)}, **{f"row{n}": two.pk for n in range(10, 20)})
    owners = [made.owners[pk] for pk in made.work_through()]
    assert all(a != b for a, b in itertools.pairwise(owners)), owners


def test_a_lab_with_fewer_jobs_under_way_goes_first(
    labs: tuple[Workspace, Workspace], queue: Callable[..., Queue], elsewhere: Callable[..., Any]
) -> None:
    """Although its last turn was later."""
    busy, other = labs
    Workspace.objects.filter(pk=other.pk).update(last_turn_at=timezone.now() - timedelta(seconds=2))
    Workspace.objects.filter(pk=busy.pk).update(last_turn_at=timezone.now() - timedelta(hours=1))
    made = queue(row1=busy.pk, row2=other.pk)
    elsewhere("turn", busy.pk, 0)
    in_turn(Work("test", 1))
    assert (made.done, made.messages) == ([2], [1, 2, 1]), "what had to wait has a new message at the end"


def test_a_lab_at_its_limit_waits_and_leaves_the_worker_to_others(
    labs: tuple[Workspace, Workspace],
    queue: Callable[..., Queue],
    elsewhere: Callable[..., Any],
    researcher: User,
) -> None:
    busy, other = labs
    workspace_limits_set(workspace=busy, by=researcher, jobs_at_once=1)
    made = queue(row1=busy.pk, row2=busy.pk)
    made.messages.clear()
    elsewhere("turn", busy.pk, 0)
    for _ in range(3):
        assert in_turn(Work("test", 1)) is None
    assert (made.done, made.messages) == ([], []), "nothing goes round and round meanwhile"
    workspace_limits_set(workspace=busy, by=researcher, jobs_at_once=2)
    assert in_turn(Work("test", 1)) == "did 1"
    assert made.messages == [2], "what waits next is woken when a job ends"
    made.owners[3] = other.pk
    workspace_limits_set(workspace=other, by=researcher, jobs_at_once=1)
    elsewhere("turn", other.pk, 0)
    assert in_turn(Work("test", 2)) == "did 2", "the other lab may not begin either"


def test_a_labs_own_long_run_lets_its_other_jobs_pass(
    labs: tuple[Workspace, Workspace],
    queue: Callable[..., Queue],
    researcher: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With one job at once, the next slice of a run would otherwise always be there before a report."""
    lab, _ = labs
    workspace_limits_set(workspace=lab, by=researcher, jobs_at_once=1)
    rows, run = queue(row1=lab.pk), Queue(row7=lab.pk)
    kinds = {"run": replace(run.kind(), later=True, waiting=dict), "test": rows.kind()}
    monkeypatch.setattr("annotator.services.turns.KINDS", kinds)
    assert in_turn(Work("run", 7)) is None
    assert (rows.done, run.done, run.messages) == ([1], [], [7])
    assert in_turn(Work("run", 7)) == "did 7"


def test_work_that_could_not_go_on_is_not_chosen_again_at_once(
    labs: tuple[Workspace, Workspace], queue: Callable[..., Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, other = labs
    made = queue(row1=busy.pk, row2=other.pk)
    monkeypatch.setattr("annotator.services.turns.PAUSE", PAUSE * 1000)
    Workspace.objects.filter(pk=busy.pk).update(last_turn_at=timezone.now())
    Workspace.objects.filter(pk=other.pk).update(last_turn_at=timezone.now() - timedelta(seconds=5))
    in_turn(Work("test", 1))
    assert made.done == [1]


def test_real_exports_take_turns(labs: tuple[Workspace, Workspace], researcher: User) -> None:
    otto = labs[1].personal_of
    assert otto is not None
    Workspace.objects.update(last_turn_at=timezone.now() - timedelta(hours=1))
    many = [export_request(study=make_study(by=researcher, slug=f"a{n}"), by=researcher) for n in range(3)]
    one = export_request(study=make_study(by=otto, slug="b"), by=otto)
    tasks.export_build_task(export_pk=many[0].pk)
    tasks.export_build_task(export_pk=many[1].pk)
    assert set(Export.objects.filter(state="done").values_list("pk", flat=True)) == {many[0].pk, one.pk}
    tasks.export_build_task(export_pk=one.pk)
    tasks.export_build_task(export_pk=many[1].pk)
    tasks.export_build_task(export_pk=many[2].pk)
    assert not Export.objects.exclude(state="done").exists()


def test_every_long_job_of_a_study_takes_turns() -> None:
    from evaluation import tasks as _  # noqa: F401 - declares its kinds

    assert set(KINDS) >= {
        "annotator.export_build",
        "annotator.file_import_run",
        "evaluation.report_build",
        "evaluation.release_build",
        "evaluation.run_work",
    }
    for kind in KINDS.values():
        assert kind.workspace(10**9) is None
        assert kind.waiting() == {}


@pytest.fixture
def elsewhere() -> Iterator[Callable[..., Any]]:
    """Takes a lock on a connection of its own, as another worker would."""
    other = connections["default"].copy()

    def take(*name: str | int) -> None:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [jobs.lock_key(*name)])

    yield take
    other.close()
