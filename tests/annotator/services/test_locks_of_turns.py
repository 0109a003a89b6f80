"""What researchers do takes long in a large study. Whoever submits an answer meanwhile doesn't wait for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal

import psycopg
import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from annotator.models import Study
from annotator.services.collect_again import collect_again
from annotator.services.exam import exam_start, exam_submit
from annotator.services.exclusion import exclusion_lift, exclusion_make, judgments_exclude
from annotator.services.pay_batch import pay_batch_make
from annotator.services.payment import payments_record, payments_undo
from annotator.services.rehearsal.fill import right_answers
from annotator.services.top_up import top_up_give
from tests.databases import address
from tests.factories import make_judgment, make_participation, make_rater, make_study

pytestmark = pytest.mark.django_db(transaction=True)


def _lift(study: Study) -> None:
    exclusion_lift(exclusion=exclusion_make(study=study, by=None, reason="x", item=study.items.get()))


def _again(study: Study) -> None:
    made = exclusion_make(study=study, by=None, reason="x", rater=study.judgments.get().rater)
    collect_again(exclusion=made)


ACTIONS: dict[str, Callable[[Study], object]] = {
    "exclude": lambda s: exclusion_make(
        study=s, by=None, reason="x", item=s.items.get(), collect_again=False
    ),
    "exclude judgments": lambda s: judgments_exclude(
        study=s, by=None, reason="x", judgments=list(s.judgments.all())
    ),
    "lift": _lift,
    "collect again": _again,
    "pay": lambda s: payments_record(
        study=s, by=None, reference="r", amounts={s.judgments.get().rater_id: Decimal(1)}
    ),
    "undo": lambda s: payments_undo(study=s, by=None, reference="r"),
    "pay batch": lambda s: pay_batch_make(study=s, key="k" * 9, digest="", by=None),
    "top up": lambda s: top_up_give(study=s, total=Decimal(1), by=None),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_judgment_can_be_stored_meanwhile(name: str) -> None:
    study = make_study(items=1, launched=True)
    make_judgment(study.items.get(), make_rater("rater"))
    locks: list[str] = []

    def beside(execute: Callable[..., object], sql: str, *rest: object) -> object:
        """After the study was locked, do what Postgres does for the foreign key of a new judgment."""
        done = execute(sql, *rest)
        if "annotator_study" in sql and "FOR " in sql and sql.endswith("UPDATE"):
            locks.append(sql)
            with psycopg.connect(address(connection.settings_dict["NAME"])) as other:
                other.execute("SET lock_timeout = '1s'")
                other.execute("SELECT FROM annotator_study WHERE id = %s FOR KEY SHARE", [study.pk])
        return done

    with connection.execute_wrapper(beside), suppress(ValidationError):  # there is nothing to pay
        ACTIONS[name](study)
    assert locks


def test_handing_in_an_exam_does_not_lock_the_study() -> None:
    """A webhook locks the study and then the person. If an exam locked the person and then the study, each would wait for the other."""
    study = make_study(items=1, launched=True, exam_required=True, exam_questions=1, pass_mark=1)
    person = make_participation(study)
    attempt = exam_start(participation=person)
    locked: list[str] = []

    def beside(execute: Callable[..., object], sql: str, *rest: object) -> object:
        done = execute(sql, *rest)
        if "FOR UPDATE" in sql:
            locked.append(sql)
            with psycopg.connect(address(connection.settings_dict["NAME"])) as other:
                other.execute("SET lock_timeout = '1s'")
                other.execute("SELECT FROM annotator_study WHERE id = %s FOR NO KEY UPDATE", [study.pk])
        return done

    answers = right_answers(person, attempt.drawn)
    with connection.execute_wrapper(beside):
        assert exam_submit(attempt=attempt, answers=answers).passed
    assert '"annotator_participation"' in locked[0], "the person is locked first"
