"""What isn't possible: undo after a review, holding a task for ever, submitting after a revocation."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotator.core.errors import Refused
from annotator.models import Assignment, Exclusion, Judgment, Participation, Qualification, Review
from annotator.selectors.participation import participation_step
from annotator.services.assignment import (
    assignment_next,
    lease_extend,
    leases_expire,
)
from annotator.services.exam import qualification_grant, qualification_revoke
from annotator.services.exclusion import exclusion_make
from annotator.services.judgment_undo import judgment_undo
from annotator.services.participation import participation_leave
from annotator.services.review import judgments_accept
from annotator.services.stage_submit import stage_submit
from tests.annotator.demo_studies import demo_study
from tests.bot import Bot
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
ANSWER = {"helpful": "no"}


def take(participation: Participation) -> Assignment:
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    return assignment


def submit(participation: Participation, assignment: Assignment) -> Judgment:
    stage_submit(user_id=participation.rater.user_id or 0, assignment_pk=assignment.pk, stage=0, raw=ANSWER)
    return Judgment.objects.get(assignment=assignment)


@pytest.fixture
def judged() -> tuple[Participation, Judgment]:
    participation = make_participation(make_study(items=3, launched=True, undo_seconds=600))
    return participation, submit(participation, take(participation))


def undo(participation: Participation, judgment: Judgment) -> None:
    judgment_undo(user_id=participation.rater.user_id or 0, assignment_pk=judgment.assignment_id or 0)


def test_a_reviewed_answer_cannot_be_undone(judged: tuple[Participation, Judgment]) -> None:
    judgments_accept(judgments=Judgment.objects.all(), by=None)
    with pytest.raises(Refused, match="already looked"):
        undo(*judged)
    assert Review.objects.count() == Judgment.objects.count() == 1


def test_an_excluded_answer_cannot_be_undone(judged: tuple[Participation, Judgment]) -> None:
    exclusion_make(study=judged[1].study, by=None, reason="too fast", judgment=judged[1])
    with pytest.raises(Refused, match="already looked"):
        undo(*judged)
    assert Exclusion.objects.count() == Judgment.objects.count() == 1


@pytest.mark.parametrize("state", ["removed", "left"])
def test_a_removed_participant_cannot_undo(judged: tuple[Participation, Judgment], state: str) -> None:
    if state == "left":
        participation_leave(participation=judged[0])
    else:
        Participation.objects.update(state=state)
    with pytest.raises(Refused):
        undo(*judged)
    assert Judgment.objects.count() == 1
    assert not Assignment.objects.filter(state="leased").exists()


def test_practice_cannot_be_skipped_by_posting_no_answer() -> None:
    study = demo_study("simulation", consent_text="", exam_required=False)
    bot = Bot(study)
    bot.instructions(bot.join())
    for number in range(len(bot.kind.practice)):
        bot.post(bot.path + "practice/", {"go": "on", "number": number})
    assert participation_step(bot.participation) == "practice"
    assert bot.participation.practice_done == 0
    bot.practice(bot.get(bot.path + "practice/"))
    assert participation_step(bot.participation) == "tasks"


def test_asking_for_more_time_is_limited() -> None:
    participation = make_participation(make_study(items=1, launched=True, redundancy=1))
    assignment, user_id = take(participation), participation.rater.user_id or 0
    for _ in range(participation.study.extra_time):
        lease_extend(user_id=user_id, assignment_pk=assignment.pk)
    until = Assignment.objects.get().lease_until
    with pytest.raises(Refused, match="extra time"):
        lease_extend(user_id=user_id, assignment_pk=assignment.pk)
    assert Assignment.objects.get().lease_until == until
    client = Client()
    client.force_login(participation.rater.user)
    assert client.post(f"/task/{assignment.pk}/more-time/").status_code == 409
    assert submit(participation, assignment).standing == "counted", "the answer is still welcome"


def test_reopening_an_expired_task_is_limited() -> None:
    participation = make_participation(make_study(items=1, launched=True, redundancy=1))
    for _ in range(participation.study.extra_time + 1):
        take(participation)
        Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        leases_expire()
    assert assignment_next(participation=participation) is None
    other = make_participation(participation.study)
    assert assignment_next(participation=other) is not None


@pytest.mark.parametrize(("setting", "standing"), [("keep", "surplus"), ("refuse", None)])
def test_an_open_task_after_a_revocation_follows_the_setting(setting: str, standing: str | None) -> None:
    study = make_study(items=2, requires=["utility"], revoked_work=setting)
    user = make_user()
    from annotator.services.participation import rater_for
    from annotator.services.study import study_launch

    rater = rater_for(user=user)
    qualification_grant(rater=rater, hit_type="utility", workspace=study.workspace, by=None)
    study_launch(study=study)
    study.refresh_from_db()
    participation = make_participation(study, user)
    assignment = take(participation)
    qualification_revoke(qualification=Qualification.objects.get(), reason="copied answers")
    if standing is None:
        with pytest.raises(Refused, match="revoked"):
            submit(participation, assignment)
        assert not Judgment.objects.exists()
    else:
        judgment = submit(participation, assignment)
        assert (judgment.standing, judgment.place_id) == (standing, None)
    assert study.places.filter(assignment__isnull=True).count() == 2 * study.redundancy, "its place is free"


def test_a_late_answer_of_a_qualified_person_still_counts() -> None:
    participation = make_participation(make_study(items=1, launched=True))
    assignment = take(participation)
    Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    leases_expire()
    assert submit(participation, assignment).standing == "counted"
