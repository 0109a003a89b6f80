"""Qualifications: earned, granted, required and revoked."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotator.core.errors import Refused
from annotator.hit_types.registry import hit_type_get
from annotator.models import Qualification, Study, User
from annotator.selectors.exam import exam_versions_of
from annotator.selectors.participation import participation_step
from annotator.services.assignment import assignment_next
from annotator.services.exam import qualification_grant, qualification_revoke
from annotator.services.participation import participation_join
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_launch
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.own_exams import YES, make_exam_study, own, sit
from tests.factories import make_item, make_participation, make_study, make_user


@pytest.fixture
def study(db: None) -> Study:
    return make_exam_study()


def test_without_the_qualification_nobody_gets_more_tasks_not_even_after_a_late_answer(study: Study) -> None:
    person = make_participation(study)
    sit(person, right=4)
    task = assignment_next(participation=person)
    assert task
    qualification_revoke(qualification=Qualification.objects.get(), reason="guessing", by=None)
    task.refresh_from_db()
    assert task.state == "expired"
    turn = turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw=YES)
    assert turn.submitted.finished, "what was already answered is kept"
    assert turn.assignment is None
    assert turn.refusal
    assert turn.refusal.kind == "not_qualified"
    assert participation_step(person) == "not_qualified", "and the exam is no way in again"


def test_a_grant_restores_access_and_keeps_the_history(study: Study) -> None:
    boss = make_user(staff=True)
    person = make_participation(study)
    sit(person, right=4)
    qualification = Qualification.objects.get()
    for _ in range(2):
        qualification_revoke(qualification=qualification, reason="guessing", by=boss)
    granted = qualification_grant(
        workspace=None, rater=person.rater, hit_type="simulation", by=boss, reason="talked to them"
    )
    qualification_grant(workspace=None, rater=person.rater, hit_type="simulation", by=boss, reason="again")
    assert participation_step(person) == "tasks"
    assert assignment_next(participation=person)
    qualification_revoke(qualification=granted, reason="again", by=boss)
    assert participation_step(person) == "not_qualified"
    qualification_grant(
        workspace=None, rater=person.rater, hit_type="simulation", by=boss, reason="last chance"
    )
    events = [(e.kind, e.by, e.reason) for q in Qualification.objects.order_by("id") for e in q.events.all()]
    assert events == [
        ("passed", None, "4 right"), ("revoked", boss, "guessing"), ("granted", boss, "talked to them"),
        ("revoked", boss, "again"), ("granted", boss, "last chance"),
    ]  # fmt: skip


def test_a_required_qualification_is_needed_to_join_and_to_continue(study: Study) -> None:
    version = exam_versions_of(study)[0].digest[:8]
    for wanted in ("simulation", f"simulation@{version}"):
        other = make_study(items=1, requires=[wanted], launched=True)
        with pytest.raises(Refused) as refused:
            participation_join(study=other, user=make_user())
        assert refused.value.kind == "needs"
        assert hit_type_get("simulation").task_title in str(refused.value)
        insider = make_participation(study)
        sit(insider, right=4)
        person = make_participation(other, insider.rater.user)
        assert participation_step(person) == "tasks"
        task = assignment_next(participation=person)
        assert task
        qualification_revoke(qualification=insider.rater.qualifications.get(), reason="guessing", by=None)
        task.refresh_from_db()
        assert (task.state, participation_step(person)) == ("expired", "needs")
        with pytest.raises(Refused):
            assignment_next(participation=person)


@pytest.mark.django_db
def test_another_exam_version_does_not_meet_a_requirement_and_unknown_ones_are_refused() -> None:
    first = make_study(
        items=1, exam_required=True, exam_own=own(2), exam_questions=2, pass_mark=1, launched=True
    )
    second = make_study(
        items=1, exam_required=True, exam_own=own(3), exam_questions=2, pass_mark=1, launched=True
    )
    person = make_participation(first)
    sit(person, right=2)
    version = exam_versions_of(second)[0].digest[:8]
    third = make_study(items=1, requires=[f"simulation@{version}"], launched=True)
    with pytest.raises(Refused):
        participation_join(study=third, user=person.rater.user)
    for wrong in (
        ["nothing"],
        ["simulation@00000000"],
        ["simulation@"],
        [3],
        "simulation",
        None,
        {},
        ["simulation@" + "\x00" * 8],
        ["\ud800"],
    ):
        with pytest.raises(ValidationError) as refused:
            make_study(requires=wrong)
        assert "requires" in refused.value.message_dict


@pytest.mark.django_db
def test_rehearsal_raters_get_the_required_qualifications() -> None:
    study = make_study(requires=["utility"])
    make_item(study, gold=YES)
    study_launch(study=study)
    study.refresh_from_db()
    raters = rehearsal_raters(study=study, count=2, accuracy=1, spread=0, seed=1)
    assert rehearse(study=study, raters=raters, seed=1) == 2


def test_no_account_is_created_for_a_guest_who_cannot_join(study: Study, client: Any) -> None:
    other = make_study(items=1, requires=["utility"], launched=True)
    before = User.objects.count()
    page = client.post(f"/join/{other.join_token}/")
    assert "This study requires another exam first" in page.content.decode()
    assert User.objects.count() == before
