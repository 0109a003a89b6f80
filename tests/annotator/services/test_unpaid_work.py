"""Work that isn't paid: only by the study's own terms, with a reason that the person reads, and undone at any time."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotator.models import AuditEntry, Participation, ReviewDecision, Study, UnpaidWork, User
from annotator.selectors.budget import budget_of
from annotator.selectors.ledger import ledger_lines
from annotator.selectors.owed import balances_of
from annotator.selectors.participation import earnings_in
from annotator.selectors.review_desk import Submission, review_desk
from annotator.services.assignment import assignment_next
from annotator.services.participation import participation_leave
from annotator.services.payment import work_accept
from annotator.services.review_desk import (
    decision_undo,
    decisions_carry_out,
    decisions_hurry,
    decisions_make,
)
from annotator.services.study import study_update
from annotator.services.submit_and_next import turn_take
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db
TERM, WHY = "Copied answers.", "All of your answers are copied from the example."


def worked(by: User, *, tasks: int = 2, leaves: bool = True, **about: Any) -> tuple[Study, Participation]:
    """Somebody without a panel who has done two tasks of 1.00 each and left."""
    about = {"unpaid_terms": f"Empty answers.\n{TERM}", "pay_per_item": "1.00", "currency": "EUR"} | about
    study = make_study(items=3, launched=True, by=by, **about)
    person = make_participation(study)
    for _ in range(tasks):
        task = assignment_next(participation=person)
        assert task is not None
        assert person.rater.user_id is not None
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    if leaves:
        participation_leave(participation=person)
    person.refresh_from_db()
    return study, person


def leave_unpaid(
    study: Study, person: Participation, by: User | None = None, *, term: str = TERM, text: str = WHY
) -> ReviewDecision:
    raters = [person.rater_id]
    [made] = decisions_make(study=study, by=by, raters=raters, kind="unpaid", term=term, text=text)
    return made


def on_desk(study: Study) -> Submission:
    [one] = review_desk(study).submissions
    return one


def carried_out(study: Study) -> None:
    decisions_hurry(study=study)
    assert decisions_carry_out(study=study) == 1


def test_work_is_left_unpaid_and_paid_after_all(researcher: User) -> None:
    study, person = worked(researcher)
    decision = leave_unpaid(study, person, researcher)
    assert [one.kind for one in ledger_lines(rater_id=person.rater_id)[study.pk]] == ["checking"], "it's held"
    carried_out(study)

    [balance] = balances_of(study)
    assert (balance.unpaid, balance.unreviewed, balance.waiting, balance.owed) == (2, 0, 0, 0)
    [line] = ledger_lines(rater_id=person.rater_id)[study.pk]
    assert (line.kind, line.number, line.amount, line.sign, line.by) == (
        "unpaid",
        2,
        2,
        0,
        researcher.username,
    )
    assert line.reason == f"{TERM}: {WHY}"
    earned = earnings_in(person)
    assert (earned.done, earned.unpaid, earned.waiting, earned.total) == (2, 2, 0, 0)
    assert budget_of(study).items == 0
    assert not on_desk(study).waits
    assert work_accept(study=study, by=researcher) == 0, "accepting everybody's work doesn't undo a decision"
    trail = {one.action: one.after for one in AuditEntry.objects.filter(action__startswith="review.")}
    assert trail["review.decided"]["term"] == TERM
    assert trail["review.carried_out"]["judgments not paid"] == 2

    decision_undo(decision=decision, by=researcher)
    decision_undo(decision=decision, by=researcher)
    assert not UnpaidWork.objects.exists()
    assert on_desk(study).waits
    assert AuditEntry.objects.filter(action="review.undone").count() == 1
    assert work_accept(study=study, by=researcher) == 2
    assert balances_of(study)[0].payable == Decimal("2.00")


def test_the_person_reads_the_terms_before_and_the_reason_after(researcher: User) -> None:
    study, person = worked(researcher)
    invitation = Client().get(reverse("annotator:invitation", args=[study.join_token])).content.decode()
    assert TERM in invitation
    leave_unpaid(study, person)
    carried_out(study)
    client = Client()
    assert person.rater.user is not None
    client.force_login(person.rater.user)
    page = client.get(reverse("annotator:me")).content.decode()
    assert "The researchers don't pay 2 of your tasks." in page.replace("&#x27;", "'")
    assert WHY in page
    assert "If you think this is wrong, write to the researchers below." in page
    assert "2 tasks, not paid" in page


def test_only_the_studys_own_terms_allow_it(researcher: User) -> None:
    study, person = worked(researcher)
    for term, text, fault in (
        ("I don't like it.", WHY, "conditions of the study's terms"),
        ("", WHY, "conditions of the study's terms"),
        (TERM, " ", "Give a reason"),
    ):
        with pytest.raises(ValidationError, match=fault):
            leave_unpaid(study, person, term=term, text=text)
    with pytest.raises(ValidationError):
        study_update(study=study, unpaid_terms="Whatever.")
    made = leave_unpaid(study, person)
    with pytest.raises(IntegrityError, match="review_decision_has_reason"), transaction.atomic():
        ReviewDecision.objects.filter(pk=made.pk).update(term="")


@pytest.mark.parametrize(
    ("about", "fault"),
    [
        ({"unpaid_terms": ""}, "terms leave no work unpaid"),
        ({"leaves": False}, "still at work"),
        ({"panel": "prolific"}, "accepted, returned or rejected"),
    ],
)
def test_who_is_always_paid(researcher: User, about: dict[str, Any], fault: str) -> None:
    settings = {name: value for name, value in about.items() if name != "panel"}
    study, person = worked(researcher, **settings)
    Participation.objects.filter(pk=person.pk).update(recruiter=about.get("panel", ""))
    with pytest.raises(ValidationError, match=fault):
        leave_unpaid(study, person)


def test_a_failed_exam_is_never_a_reason(researcher: User) -> None:
    study, _ = worked(researcher)
    desk, one = review_desk(study), on_desk(study)
    assert desk.fault(one, "unpaid") == ""
    assert "failed the exam" in desk.fault(replace(one, failed_exam=True), "unpaid")


def test_a_reviewer_decides_on_the_desk(researcher: User) -> None:
    study, person = worked(researcher)
    client = Client()
    client.force_login(researcher)
    desk = reverse("admin:study_desk", args=[study.pk])
    assert "Don’t pay this work" in client.get(desk).content.decode()
    sent = {"decision": "unpaid", "current_rater": person.rater_id, "unpaid_term": TERM, "unpaid_text": WHY}
    assert client.post(desk, sent).status_code == 302
    carried_out(study)
    page = client.get(f"{desk}?show=decided").content.decode()
    assert f"by the study’s term “{TERM}”" in page
    assert "Undo this decision" in page
