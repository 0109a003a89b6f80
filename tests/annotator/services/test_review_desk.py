"""The review desk: evidence for each kind of sign, decisions within the panel's rules, held, undone and carried out once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.models import (
    AuditEntry,
    ExamAttempt,
    LedgerEntry,
    Participation,
    Rater,
    Review,
    ReviewDecision,
    Study,
    User,
)
from annotator.recruitment.review_rules import CHECKS, QUICK
from annotator.selectors.owed import balances_of
from annotator.selectors.review_desk import Submission, review_desk
from annotator.services.erasure import erase
from annotator.services.panel_reconcile import panel_reconcile
from annotator.services.review_desk import (
    batch_undo,
    decision_undo,
    decisions_carry_out,
    decisions_hurry,
    decisions_make,
    decisions_sweep,
)
from annotator.services.study import study_launch
from tests.annotator.desk_people import NO, YES, item_answer, items_make, people_make, work_make
from tests.annotator.services.panel_people import connected_study, published
from tests.factories import make_item, make_study
from tests.prolific_api import ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db
WHY = "You failed both attention checks, which ask you to choose the answer that they name. We are sorry that we can't accept this."
NAMES = [
    "ann",
    "ben",
    "cam",
    "dee",
    "quick",
    "inattentive",
    "goldless",
    "always",
    "paster",
    "leaver",
    "contrary",
    "fickle",
]


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


def answers(number: int, item: Any) -> tuple[dict[str, str], float, dict[str, int]]:
    name, right, role = NAMES[number], item_answer(item), item.role
    if name == "quick":
        return right, 0.4, {}
    if (name, role) in (("inattentive", "attention"), ("goldless", "gold")):
        return NO, 9.0, {}
    if name == "always":
        return YES, 9.0, {}
    if name == "paster":
        return right, 9.0, {"pastes": 2}
    if name == "leaver":
        return right, 9.0, {"left": 3}
    if name == "contrary" and role == "ordinary":
        return (NO if right == YES else YES), 9.0, {}
    if name == "fickle" and item.key in ("plain-8", "plain-9"):
        return (NO if right == YES else YES), 9.0, {}
    return right, 9.0, {}


@pytest.fixture
def study(researcher: User) -> Study:
    """Four careful people, and one for each kind of sign."""
    made = make_study(by=researcher, pay_per_item="0.10", min_seconds=2)
    items_make(made)
    study_launch(study=made)
    made.refresh_from_db()
    work_make(made, people_make(made, NAMES), answers)
    return made


def on_desk(study: Study) -> dict[str, Submission]:
    return {one.name: one for one in review_desk(study).submissions}


def raters(study: Study, *names: str) -> list[int]:
    return [one.rater for one in review_desk(study).submissions if one.name in names]


def test_each_kind_of_sign_is_found_and_careful_people_have_none(study: Study) -> None:
    found = {name: [sign.kind for sign in one.evidence.signs] for name, one in on_desk(study).items()}
    assert {name: kinds for name, kinds in found.items() if kinds} == {
        "quick": ["fast"], "inattentive": ["attention"], "goldless": ["gold"], "always": ["same"], "paster": ["pasted"],
        "leaver": ["left"], "contrary": ["disagrees"], "fickle": ["repeats"],
    }  # fmt: skip
    words = {sign.kind: sign.words for one in on_desk(study).values() for sign in one.evidence.signs}
    assert words["fast"] == "14 of 14 in under 2 s"
    assert words["repeats"] == "answered 2 of 2 repeated tasks differently"
    desk = review_desk(study)
    assert [one.name for one in desk.shown("clean")] == ["ann", "ben", "cam", "dee"]
    assert [one.name for one in desk.shown("waiting", "gold")] == ["goldless"]
    assert desk.counts["signs"] == 8


def test_the_number_of_queries_does_not_depend_on_the_number_of_people(study: Study) -> None:
    with CaptureQueriesContext(
        connection,
    ) as few:
        review_desk(study)
    work_make(
        study,
        people_make(study, [f"more-{n}" for n in range(12)]),
        lambda n, item: (item_answer(item), 9.0, {}),
    )
    with CaptureQueriesContext(connection) as many:
        review_desk(study)
    assert len(few) == len(many) <= 10


def test_an_acceptance_is_held_then_carried_out_once_with_its_bonus(study: Study, researcher: User) -> None:
    [decision] = decisions_make(
        study=study,
        by=researcher,
        raters=raters(study, "ann"),
        kind="accept",
        bonus=Decimal("0.50"),
        text="Careful notes.",
    )
    assert decisions_sweep() == 0, "it is held"
    assert not Review.objects.exists()
    assert not on_desk(study)["ann"].waits
    decisions_hurry(study=study)
    assert decisions_carry_out(study=study) == 1
    assert (decisions_carry_out(study=study), decisions_sweep()) == (0, 0)
    assert Review.objects.count() == 14
    assert LedgerEntry.objects.get().amount == Decimal("0.50")
    [balance] = balances_of(study, raters=[on_desk(study)["ann"].rater])
    assert balance.payable == Decimal("1.90")
    with pytest.raises(ValidationError, match="That can't be undone"):
        decision_undo(decision=decision, by=researcher)
    trail = list(AuditEntry.objects.filter(action__startswith="review.").order_by("id"))
    assert [entry.action for entry in trail] == ["review.decided", "review.carried_out"]
    assert trail[0].actor_id == researcher.pk
    assert trail[0].after == {
        "decision": "accept",
        "bonus": "0.5",
        "currency": study.currency,
        "reason": "Careful notes.",
        "signs": [],
    }
    assert trail[0].subject is not None
    assert trail[0].subject.rater_id == on_desk(study)["ann"].rater


def test_work_after_the_decision_is_not_accepted_unseen(study: Study, researcher: User) -> None:
    decisions_make(study=study, by=researcher, raters=raters(study, "ann"), kind="accept")
    later = study.judgments.filter(rater__name="ann").first()
    assert later is not None
    study.judgments.filter(pk=later.pk).update(created_at=timezone.now() + timedelta(seconds=5))
    decisions_hurry(study=study)
    decisions_carry_out(study=study)
    assert Review.objects.count() == 13
    assert on_desk(study)["ann"].waits, "there is work again that nobody has decided about"
    decisions_make(study=study, by=researcher, raters=raters(study, "ann"), kind="accept")


def test_a_press_is_undone_as_a_whole_and_a_second_press_changes_nothing(
    study: Study, researcher: User
) -> None:
    made = decisions_make(study=study, by=researcher, raters=raters(study, "ann", "ben"), kind="accept")
    with pytest.raises(ValidationError, match="ann has a decision already"):
        decisions_make(study=study, by=researcher, raters=raters(study, "cam", "ann"), kind="accept")
    assert ReviewDecision.objects.count() == 2, "all or none"
    assert batch_undo(study=study, batch=made[0].batch, by=researcher) == 2
    with pytest.raises(ValidationError, match="undone already"):
        batch_undo(study=study, batch=made[0].batch, by=researcher)
    decision_undo(decision=made[0], by=researcher)
    decisions_hurry(study=study)
    assert decisions_carry_out(study=study) == 0
    assert on_desk(study)["ann"].waits
    assert AuditEntry.objects.filter(action="review.undone").count() == 2


@pytest.mark.parametrize(
    ("about", "fault"),
    [
        ({"kind": "forgive"}, "Expected one of"),
        ({"kind": "accept", "bonus": Decimal("0.001"), "text": "x"}, "0.01"),
        ({"kind": "accept", "bonus": Decimal("NaN"), "text": "x"}, "0.01"),
        ({"kind": "accept", "bonus": Decimal(1)}, "Give a reason"),
        ({"kind": "return", "text": "x"}, "didn't come from"),
        ({"kind": "reject", "text": WHY, "category": "LOW_EFFORT"}, "didn't come from"),
        ({"kind": "accept", "raters": []}, "Select at least one"),
        ({"kind": "accept", "raters": [10**9]}, "no submission in this study"),
    ],
)
def test_what_cannot_be_decided_is_refused_with_its_reason(
    study: Study, researcher: User, about: Any, fault: str
) -> None:
    with pytest.raises(ValidationError, match=fault):
        decisions_make(**{"study": study, "by": researcher, "raters": raters(study, "ann")} | about)
    assert not ReviewDecision.objects.exists()


# -- at the panel ------------------------------------------------------------------------------------------


@pytest.fixture
def there(books: ProlificBooks, researcher: User) -> tuple[Study, dict[str, str]]:
    """A study on Prolific with three people who wait for a review; name -> submission."""
    study, link = connected_study(researcher, items=0, launched=False)
    make_item(study, key="plain-1")
    for number in range(2):
        make_item(study, key=f"attention-{number}", role="attention", gold=YES)
    study_launch(study=study)
    study.refresh_from_db()
    row = published(study, link, places=5)
    study.refresh_from_db()
    submissions = {name: books.arrive(row.remote_id, f"pid-{name}") for name in ("ann", "bad", "exam")}
    people = people_make(study, list(submissions), recruiter="prolific", recruiter_verified=True)
    for one in people:
        name = one.rater.name
        Participation.objects.filter(pk=one.pk).update(
            recruiter_id=f"pid-{name}", recruiter_session=submissions[name]
        )
        books.move(submissions[name], "AWAITING REVIEW")
    work_make(study, people, lambda number, item: (NO if number else item_answer(item), 9.0, {}))
    ExamAttempt.objects.create(
        participation=people[2],
        number=1,
        drawn=["a"],
        score=0,
        pass_mark=1,
        submitted_at=timezone.now(),
        exam=exam_of(study),
    )
    panel_reconcile(row=row)
    return study, submissions


def exam_of(study: Study) -> Any:
    from annotator.models import Exam

    return Exam.objects.create(hit_type=study.hit_type, digest="d" * 64)


def reject(study: Study, by: User, *names: str, **about: Any) -> list[ReviewDecision]:
    given = {"kind": "reject", "text": WHY, "category": "FAILED_CHECK"} | about
    return decisions_make(study=study, by=by, raters=raters(study, *names), **given)


def carried_out(study: Study) -> int:
    decisions_hurry(study=study)
    return decisions_carry_out(study=study)


def test_decisions_reach_the_panel_once_also_if_it_fails_in_between(
    books: ProlificBooks, there: Any, researcher: User
) -> None:
    study, submissions = there
    decisions_make(study=study, by=researcher, raters=raters(study, "ann"), kind="accept")
    [rejected] = reject(study, researcher, "bad")
    books.troubles = [("transition", "500 after")] * 3
    assert carried_out(study) == 1, "the first reply failed three times; it may have been carried out"
    [failed] = ReviewDecision.objects.filter(done_at=None)
    assert "problem of its own" in failed.fault
    with pytest.raises(ValidationError, match="being carried out"):
        decision_undo(decision=failed, by=researcher)
    assert carried_out(study) == 1
    assert sorted(books.decided) == sorted([(submissions["ann"], "APPROVE"), (submissions["bad"], "REJECT")])
    assert Review.objects.count() == 3, "rejected work isn't accepted"
    bad = Participation.objects.get(rater__name="bad")
    assert bad.panel_status == "REJECTED"
    decision_undo(decision=rejected, by=researcher)
    bad.refresh_from_db()
    assert (bad.panel_status, books.submissions[submissions["bad"]]["status"]) == (
        "AWAITING REVIEW",
        "AWAITING REVIEW",
    )
    assert on_desk(study)["bad"].waits


def test_a_rejection_that_the_panel_took_back_can_be_decided_again(
    books: ProlificBooks, there: Any, researcher: User
) -> None:
    study, submissions = there
    [rejected] = reject(study, researcher, "bad")
    assert carried_out(study) == 1
    Participation.objects.filter(rater__name="bad").update(panel_status="AWAITING REVIEW")
    books.move(submissions["bad"], "AWAITING REVIEW")
    assert on_desk(study)["bad"].waits
    decisions_make(study=study, by=researcher, raters=raters(study, "bad"), kind="accept")
    assert carried_out(study) == 1
    assert books.decided[-1] == (submissions["bad"], "APPROVE")
    assert not ReviewDecision.objects.get(pk=rejected.pk).in_force


def test_one_decision_that_fails_does_not_keep_others_from_their_turn(
    books: ProlificBooks, there: Any, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, _submissions = there
    reject(study, researcher, "bad")
    decisions_make(study=study, by=researcher, raters=raters(study, "ann"), kind="accept")
    usual = books.answer

    def odd(method: str, path: str, body: Any, token: str) -> Any:
        found = usual(method, path, body, token)
        return (200, [], {}) if body and body.get("action") == "REJECT" else found

    monkeypatch.setattr(books, "answer", odd)
    monkeypatch.setattr(books, "checks", None)  # the reply is another than Prolific's description allows
    decisions_hurry(study=study)
    assert decisions_sweep() == 1
    assert ReviewDecision.objects.get(kind="accept").done_at is not None
    assert "isn't what its API describes" in ReviewDecision.objects.get(kind="reject").fault


def test_an_erasure_ends_what_was_to_be_decided(there: Any, researcher: User) -> None:
    study, _ = there
    [decision] = reject(study, researcher, "bad")
    erase(study=study, rater=Rater.objects.get(name="bad"), policy="anonymise")
    decision.refresh_from_db()
    assert (decision.in_force, decision.undone_at is not None) == (False, True)
    assert carried_out(study) == 0


def test_a_rejection_is_not_taken_back_after_the_panels_limit(
    books: ProlificBooks, there: Any, researcher: User
) -> None:
    study, submissions = there
    [rejected] = reject(study, researcher, "bad")
    assert carried_out(study) == 1
    ReviewDecision.objects.update(done_at=timezone.now() - timedelta(days=22))
    with pytest.raises(ValidationError, match="only for a time, which is over"):
        decision_undo(decision=rejected, by=researcher)
    assert books.decided == [(submissions["bad"], "REJECT")]
    assert ReviewDecision.objects.get().in_force


def test_rejections_follow_the_panels_rules(there: Any, researcher: User) -> None:
    study, _ = there
    people, desk = on_desk(study), review_desk(study)
    offered = {name: [one.id for one in desk.reasons(person)] for name, person in people.items()}
    assert offered["exam"] == [], "never for a failed exam"
    assert "FAILED_CHECK" in offered["bad"]
    assert "FAILED_CHECK" not in offered["ann"]
    assert "TOO_QUICKLY" not in offered["bad"], "too few people have a time to compare with"
    for names, about, fault in (
        (["exam"], {}, "A failed exam is no reason"),
        (["ann"], {}, "doesn't allow this reason"),
        (["bad"], {"category": "I_FEEL_LIKE_IT"}, "doesn't allow this reason"),
        (["bad"], {"text": "No."}, "at least 100 characters"),
        (["bad", "exam"], {}, "A failed exam is no reason"),
    ):
        with pytest.raises(ValidationError, match=fault):
            reject(study, researcher, *names, **about)
    Participation.objects.filter(rater__name="bad").update(panel_status="APPROVED")
    with pytest.raises(ValidationError, match="approved on Prolific, so it can no longer"):
        reject(study, researcher, "bad")
    Participation.objects.filter(rater__name="bad").update(
        panel_status="AWAITING REVIEW", finished_at=timezone.now() - timedelta(days=22)
    )
    with pytest.raises(ValidationError, match="more than 21 days ago"):
        reject(study, researcher, "bad")
    assert {QUICK, CHECKS} == {"quick", "checks"}


def test_somebody_is_asked_once_to_return_and_can_be_decided_about_afterwards(
    books: ProlificBooks, there: Any, researcher: User
) -> None:
    study, submissions = there
    decisions_make(
        study=study,
        by=researcher,
        raters=raters(study, "exam"),
        kind="return",
        text="The exam wasn't passed.",
    )
    books.troubles = [("request-return", "500 after")]
    assert carried_out(study) == 1
    assert books.asked == [(submissions["exam"], ["The exam wasn't passed."])]
    with pytest.raises(ValidationError, match="was asked already"):
        decisions_make(study=study, by=researcher, raters=raters(study, "exam"), kind="return", text="Again.")
    decisions_make(study=study, by=researcher, raters=raters(study, "exam"), kind="accept")
    assert ReviewDecision.objects.filter(in_force=True).count() == 1


def test_what_the_panel_refuses_waits_for_a_person(
    books: ProlificBooks, there: Any, researcher: User
) -> None:
    study, submissions = there
    [decision] = reject(study, researcher, "bad")
    books.move(submissions["bad"], "RETURNED")  # and no webhook has told us
    assert carried_out(study) == 0
    decision.refresh_from_db()
    assert decision.due_at is None
    assert "The submission is RETURNED" in decision.fault
    assert decisions_sweep() == 0
    decision_undo(decision=decision, by=researcher)
