"""What a study does with the work of people whose submission is rejected at the panel."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotator.models import Exclusion, Participation, Study
from annotator.recruitment.identity import PanelIdentity
from annotator.services.exclusion import exclusion_lift, exclusion_make
from annotator.services.panel_events import event_apply
from annotator.services.panel_join import panel_join
from annotator.services.participation import instructions_finish, participation_finish
from annotator.services.study import study_close
from tests.annotator.services.collecting import free_places, work
from tests.factories import make_study, make_user
from tests.prolific_server import STUDY

pytestmark = pytest.mark.django_db


def rejected(rejected_work: str, *, closed: bool = False) -> tuple[Study, Participation]:
    """A study that one participant has done whole, whose submission is then rejected."""
    study = make_study(
        items=2, redundancy=1, launched=True, panel="prolific", panel_links="plain", panel_study_ids=STUDY,
        rejected_work=rejected_work,
    )  # fmt: skip
    user = make_user()
    identity = PanelIdentity("prolific", "p1", "s1", STUDY)
    person = panel_join(study=study, user=user, visitor=user, identity=identity)
    instructions_finish(participation=person)
    assert len(work(person)) == 2
    participation_finish(participation=person)
    if closed:
        study_close(study=study)
    status(person, "AWAITING REVIEW", minutes=-2)
    assert status(person, "REJECTED", minutes=-1) == "noted"
    return study, person


def status(person: Participation, name: str, *, minutes: float) -> str:
    locked = Participation.objects.select_for_update().get(pk=person.pk)
    return event_apply(participation=locked, status=name, at=timezone.now() + timedelta(minutes=minutes))


def test_rejected_work_is_kept_unless_the_study_says_otherwise() -> None:
    study, _ = rejected("keep")
    assert not Exclusion.objects.exists()
    assert not free_places(study)


def test_rejected_work_is_excluded() -> None:
    study, person = rejected("exclude")
    made = Exclusion.objects.get()
    assert (made.rater, made.created_by) == (person.rater, None)
    assert made.reason == "submission rejected on Prolific"
    assert not free_places(study)


def test_rejected_work_is_collected_again_and_kept_if_it_is_approved_after_all() -> None:
    study, person = rejected("again")
    assert set(free_places(study).values()) == {1}
    assert status(person, "REJECTED", minutes=0) == "noted"
    assert Exclusion.objects.count() == 1
    status(person, "APPROVED", minutes=1)
    assert Exclusion.objects.get().lifted_at is not None
    assert not free_places(study), "nobody had been asked yet"


def test_in_a_closed_study_rejected_work_is_excluded_only() -> None:
    study, _ = rejected("again", closed=True)
    assert Exclusion.objects.get().collect_again is False
    assert not free_places(study)


def test_what_researchers_have_decided_stays() -> None:
    study, person = rejected("exclude")
    exclusion_lift(exclusion=Exclusion.objects.get())
    own = exclusion_make(study=study, rater=person.rater, by=None, reason="too fast")
    status(person, "REJECTED", minutes=0)
    assert Exclusion.objects.filter(lifted_at=None).get() == own
    status(person, "APPROVED", minutes=1)
    assert Exclusion.objects.filter(lifted_at=None).get() == own
