"""The consent text, version and pay that a person saw apply to the task that they have open."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.core.canonical import text_digest
from annotator.core.errors import ConsentOutdated
from annotator.models import Assignment, Consent, ExamAttempt, Judgment, Participation, Study
from annotator.selectors.participation import earnings_of, progress_of
from annotator.services.assignment import assignment_next
from annotator.services.exam import exam_start, exam_submit
from annotator.services.participation import consent_give
from annotator.services.stage_submit import stage_submit
from annotator.services.study import study_update
from tests.annotator.services.own_exams import own
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db
ANSWER = {"helpful": "no"}


def agree(participation: Participation, text: str) -> None:
    participation.study.refresh_from_db()
    consent_give(participation=participation, digest=text_digest(text))


def worker(**fields: Any) -> tuple[Study, Participation, Assignment]:
    study = make_study(items=3, launched=True, **fields)
    participation = make_participation(study)
    if fields.get("consent_text"):
        agree(participation, fields["consent_text"])
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    return study, participation, assignment


def submit(participation: Participation, assignment: Assignment) -> Judgment:
    stage_submit(user_id=participation.rater.user_id or 0, assignment_pk=assignment.pk, stage=0, raw=ANSWER)
    return Judgment.objects.get(assignment=assignment)


def test_an_answer_under_an_old_consent_is_kept_until_the_new_one() -> None:
    study, participation, assignment = worker(consent_text="First.")
    study_update(study=study, consent_text="Second.")
    client = Client()
    client.force_login(participation.rater.user)
    reply = client.post(f"/task/{assignment.pk}/", ANSWER | {"stage": "0"}, headers={"HX-Request": "true"})
    assert reply.headers["HX-Redirect"] == f"/study/{study.slug}/consent/"
    assert not Judgment.objects.exists()
    assignment.refresh_from_db()
    assert (assignment.draft, assignment.state) == (ANSWER, "leased"), "the answer is kept"
    agree(participation, "Second.")
    page = client.get(f"/study/{study.slug}/task/").content.decode()
    assert re.search(r'value="no"[^>]* checked', page), "and filled in again"
    assert submit(participation, assignment).response == ANSWER
    assert Consent.objects.count() == 2


def test_consent_is_valid_again_when_its_text_is_restored() -> None:
    study, participation, assignment = worker(consent_text="First.")
    study_update(study=study, consent_text="Second.")
    with pytest.raises(ConsentOutdated):
        submit(participation, assignment)
    study_update(study=study, consent_text="First.")  # taken back: what they agreed to holds again
    assert submit(participation, assignment)


def test_a_judgment_points_to_the_version_of_its_lease_and_earns_its_pay() -> None:
    study, participation, assignment = worker(pay_per_item="0.50")
    seen = study.snapshot_id
    study_update(study=study, pay_per_item=Decimal("0.10"), title="Another title")
    judgment = submit(participation, assignment)
    assert judgment.snapshot_id == seen != Study.objects.get().snapshot_id
    participation.study.refresh_from_db()
    following = assignment_next(participation=participation)
    assert following is not None
    submit(participation, following)
    assert earnings_of(rater_id=participation.rater_id)[0].earned == Decimal("0.60")
    assert progress_of(participation).pay == Decimal("0.60")


@pytest.mark.parametrize(
    "change",
    [{"pay_per_item": Decimal("0.1")}, {"minutes_per_item": 9.0}, {"pay_floor_per_hour": Decimal(1)}],
)
def test_no_change_of_a_live_study_lowers_pay_below_the_minimum(change: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"pay_per_item": "0.5", "minutes_per_item": 2, "pay_floor_per_hour": "9"}
    study = make_study(items=10, launched=True, instructions_text="Guess.", **fields)
    with pytest.raises(ValidationError):
        study_update(study=study, **change)
    assert study_update(study=study, pay_floor_per_hour=Decimal(10)).pay_floor_per_hour == 10


def test_the_currency_is_fixed_after_the_launch() -> None:
    with pytest.raises(ValidationError):
        study_update(study=make_study(items=1, launched=True), currency="IDR")


def test_an_open_attempt_keeps_its_pay_when_the_exams_pay_is_cut() -> None:
    fields: dict[str, Any] = {"exam_required": True, "exam_questions": 4, "pass_mark": 3, "exam_own": own(4)}
    study = make_study(items=1, launched=True, exam_pay="2.00", **fields)
    attempt = exam_start(participation=make_participation(study))
    study_update(study=study, exam_pay=Decimal(0))
    exam_submit(attempt=attempt, answers=dict.fromkeys(attempt.drawn, ANSWER))
    assert ExamAttempt.objects.get().pay == 2
