"""The rules for creating, launching, changing and closing studies."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from annotator.models import Place, Snapshot
from annotator.services.study import (
    study_close,
    study_create,
    study_launch,
    study_pause,
    study_reopen,
    study_resume,
    study_update,
)
from tests.factories import EASY, make_item, make_study, make_user

pytestmark = pytest.mark.django_db


def test_a_new_study_starts_with_the_papers_settings():
    owner = make_user(staff=True)
    study = study_create(by=owner, hit_type="simulation", slug="birds", title="Birds")
    assert (study.redundancy, study.exam_questions, study.pass_mark) == (3, 11, 9)
    assert study.memberships.get().role == "owner"


def test_the_error_about_an_unknown_type_lists_all_types():
    with pytest.raises(ValidationError, match="simulation"):
        study_create(by=None, hit_type="nonsense", slug="x", title="X")


def test_a_launch_creates_a_snapshot_and_k_places_per_item():
    study = make_study(items=4, redundancy=2, launched=True)
    assert study.state == "live"
    assert study.snapshot.content["items"] == 4
    assert Place.objects.filter(study=study).count() == 8
    positions = Place.objects.filter(study=study, number=1).values_list("position", flat=True)
    assert sorted(positions) == [0, 1, 2, 3]


def test_an_empty_study_cannot_be_launched():
    study = make_study()
    with pytest.raises(ValidationError, match="Import material first"):
        study_launch(study=study)


def test_pay_below_the_minimum_prevents_the_launch():
    fields = {"pay_per_item": "0.10", "minutes_per_item": 1, "pay_floor_per_hour": "9.00"}
    study = make_study(items=1, instructions_text="Guess.", **fields)
    with pytest.raises(ValidationError, match=r"3\.00 USD an hour, below your minimum of 9\.00"):
        study_launch(study=study)


def test_a_second_launch_is_refused():
    study = make_study(items=1, launched=True)
    with pytest.raises(ValidationError, match="only a draft"):
        study_launch(study=study)


def test_a_change_of_a_live_study_adds_a_version():
    study = make_study(items=2, launched=True)
    first = study.snapshot
    study = study_update(study=study, title="A better title")
    assert study.snapshot.number == 2
    assert Snapshot.objects.get(pk=first.pk).content["title"] == first.content["title"] != "A better title"
    study = study_update(study=study, title=first.content["title"])
    assert study.snapshot == first, "the same content has the same address"


def test_redundancy_can_only_grow_after_the_launch():
    study = make_study(items=3, redundancy=1, launched=True)
    study = study_update(study=study, redundancy=3)
    assert Place.objects.filter(study=study).count() == 9
    with pytest.raises(ValidationError, match="only grow"):
        study_update(study=study, redundancy=2)


@pytest.mark.parametrize("name", ["hit_type", "seed", "slug"])
def test_settings_that_places_depend_on_are_fixed_after_the_launch(name):
    study = make_study(items=1, launched=True)
    with pytest.raises(ValidationError, match="This can't be changed after the launch"):
        study_update(study=study, **{name: 77})


def test_a_study_can_be_paused_resumed_and_closed():
    study = make_study(items=1, launched=True)
    assert study_pause(study=study).state == "paused"
    with pytest.raises(ValidationError, match="cannot become paused"):
        study_pause(study=study)
    assert study_resume(study=study).state == "live"
    assert study_close(study=study).closed_at is not None
    assert study_reopen(study=study).closed_at is None
    assert study_resume(study=study).state == "live"
    study_close(study=study)
    with pytest.raises(ValidationError):
        study_resume(study=study)


def test_the_items_digest_changes_with_every_item():
    one, two = make_study(**EASY), make_study(**EASY)
    make_item(one, key="a")
    make_item(two, key="a", gold={"helpful": "no"})
    assert study_launch(study=one).content["items_digest"] != study_launch(study=two).content["items_digest"]
