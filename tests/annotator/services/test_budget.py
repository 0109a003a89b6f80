"""A study's caps: what is earned and in hand never passes the hard one, whoever comes when."""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.errors import Refused
from annotator.models import Assignment, ExamAttempt, Participation, Study
from annotator.selectors.budget import Budget, budget_of
from annotator.selectors.panel_plan import people_needed
from annotator.selectors.places import places_for, places_of
from annotator.services.assignment import assignment_next, leases_expire
from annotator.services.exam import exam_start
from annotator.services.payment import bonus_give
from annotator.services.study import study_update
from annotator.services.submit_and_next import turn_take
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db


def capped(cap: str | None = "1.00", **fields: Any) -> Study:
    about = {
        "items": 6,
        "redundancy": 3,
        "pay_per_item": "0.25",
        "launched": True,
        "budget_cap": cap,
    } | fields
    return make_study(**about)


def answers(person: Participation, task: Assignment) -> Assignment | None:
    return turn_take(
        user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"}
    ).assignment


def work(person: Participation, most: int) -> int:
    task = assignment_next(participation=person)
    done = 0
    while task is not None and done < most:
        task, done = answers(person, task), done + 1
    return done


def test_no_task_is_given_out_above_the_cap_and_work_in_hand_is_reserved() -> None:
    study = capped()
    ann, ben, cleo = (make_participation(study) for _ in range(3))
    assert assignment_next(participation=ben) is not None
    assert work(ann, 9) == 3, "the fourth place within the cap is in Ben's hand"
    budget = budget_of(study)
    assert (budget.items, budget.in_hand, budget.tasks, budget.left) == (
        Decimal("0.75"), Decimal("0.25"), 1, Decimal(0),
    )  # fmt: skip
    assert assignment_next(participation=cleo) is None
    assert places_of(study).full
    assert places_for(cleo).full
    assert people_needed(study).people == 0
    study_update(study=study, budget_cap=Decimal("1.25"))
    cleo.study.refresh_from_db()
    assert assignment_next(participation=cleo) is not None, "a higher cap opens the study again"


def test_without_a_cap_nothing_is_asked_and_nothing_changes() -> None:
    study = capped(None)
    with CaptureQueriesContext(connection) as seen:
        assert work(make_participation(study), 9) == 6
    assert not [one for one in seen if "annotator_ledgerentry" in one["sql"] or "advisory" in one["sql"]]
    assert not {"budget_cap", "budget_notice"} & set(study.snapshot.content)  # type: ignore[union-attr]


def test_unpaid_work_and_rehearsals_need_no_room() -> None:
    assert work(make_participation(capped("0.01", pay_per_item="0")), 9) == 6


def test_a_late_answer_is_paid_and_stays_within_the_cap() -> None:
    study = capped("0.50")
    ann, ben = make_participation(study), make_participation(study)
    late = assignment_next(participation=ann)
    assert late is not None
    Assignment.objects.filter(pk=late.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    assert leases_expire() == 1
    assert budget_of(study).tasks == 1, "still reserved, because a late answer is paid"
    assert work(ben, 9) == 1
    answers(ann, late)
    assert (budget_of(study).committed, budget_of(study).left) == (Decimal("0.50"), 0)

    again = capped("0.25")
    ann, ben = make_participation(again), make_participation(again)
    late = assignment_next(participation=ann)
    assert late is not None
    Assignment.objects.filter(pk=late.pk).update(lease_until=timezone.now() - timedelta(days=2))
    leases_expire()
    assert work(ben, 9) == 1, "a day later the room is somebody else's"
    assert assignment_next(participation=ann) is None
    with pytest.raises(Refused, match="Time ran out"):
        answers(ann, late)
    assert budget_of(again).committed == Decimal("0.25")


def test_an_exam_is_reserved_with_a_task_behind_it() -> None:
    study = capped("0.60", exam_required=True, exam_pay="0.30", exam_questions=2, pass_mark=1)
    ann, ben = make_participation(study), make_participation(study)
    exam_start(participation=ann)
    exam_start(participation=ann)  # the same attempt
    budget = budget_of(study)
    assert (budget.exam_in_hand, budget.sitting, budget.committed) == (Decimal("0.30"), 1, Decimal("0.30"))
    with pytest.raises(Refused, match="the exam is closed"):
        exam_start(participation=ben)
    assert ExamAttempt.objects.count() == 1


def test_bonuses_count_and_the_notice_only_tells() -> None:
    study = capped("1.00", budget_notice="0.50")
    ann = make_participation(study)
    assert not budget_of(study).noticed
    bonus_give(study=study, rater=ann.rater, by=None, amount=Decimal("0.60"), reason="careful")
    budget = budget_of(study)
    assert (budget.noticed, budget.left) == (True, Decimal("0.40"))
    assert work(ann, 9) == 1


def test_a_budget_without_a_cap_has_no_rest() -> None:
    zero = Decimal(0)
    budget = Budget(zero, zero, zero, zero, 0, zero, 0)
    assert (budget.left, budget.noticed, budget.admits(Decimal(10**6))) == (None, False, True)


@pytest.mark.django_db(transaction=True)
def test_people_who_come_at_once_never_break_the_cap() -> None:
    study = capped("1.00", items=12, redundancy=3)
    people = [make_participation(study) for _ in range(8)]
    gate = threading.Barrier(len(people))
    given: list[bool] = []

    def come(person: Participation) -> None:
        try:
            gate.wait(timeout=60)
            given.append(assignment_next(participation=person) is not None)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=come, args=[person]) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert sorted(given) == [False] * 4 + [True] * 4
    assert budget_of(study).committed == Decimal("1.00")
