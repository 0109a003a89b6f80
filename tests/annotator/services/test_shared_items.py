"""Some items for all raters and the others divided, in one study (Limpijankit et al. 2025, Appendix A)."""

from __future__ import annotations

from collections import Counter

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotator.core.allocation import shared_draw
from annotator.models import Assignment, Item, Study
from annotator.selectors.workload import people_needed_words, study_workload
from annotator.services.assignment import assignment_next
from annotator.services.items import item_correct, item_withdraw
from annotator.services.rehearsal.places import rehearsal_prepare
from annotator.services.study import launch_faults, study_launch, study_update
from annotator.services.study_copy import study_duplicate
from tests.factories import make_item, make_participation, make_study, make_user

pytestmark = pytest.mark.django_db


def divided(*, items: int = 15, shared: int = 3, **fields: object) -> Study:
    study = make_study(redundancy=3, shared_items=shared, **fields)
    for number in range(items):
        item = make_item(study, key=f"item-{number:02}")
        Item.objects.filter(pk=item.pk).update(condition=("cot", "post_hoc", "forced")[number % 3])
    return study


def places_by_item(study: Study, *, rehearsal: bool = False) -> dict[str, int]:
    keys = study.places.filter(rehearsal=rehearsal).values_list("item__key", flat=True)
    return dict(Counter(keys))


def works(study: Study, most: int | None = None) -> list[str]:
    """The keys of everything that one new person gets, in their order."""
    person, got = make_participation(study, make_user()), list[str]()
    while (most is None or len(got) < most) and (task := assignment_next(participation=person)):
        got.append(task.item.key)
        Assignment.objects.filter(pk=task.pk).update(state="submitted")
    return got


def test_three_people_share_three_items_and_divide_the_other_twelve() -> None:
    study = divided(max_items_per_rater=7)
    study_launch(study=study)
    study.refresh_from_db()
    counts = places_by_item(study)
    common = {key for key, n in counts.items() if n == 3}
    assert len(common) == 3
    assert sorted(counts.values()) == [1] * 12 + [3] * 3
    conditions = study.items.filter(key__in=common).values_list("condition", flat=True)
    assert set(conditions) == {"cot", "post_hoc", "forced"}, "evenly over the conditions"

    work = study_workload(study)
    assert (work.places, work.people) == (21, 3)
    assert people_needed_words(study, work) == (
        "At least 3 participants are needed, who all get the items for all raters and divide the others."
    )
    got = [works(study, 7) for _ in range(3)]
    assert all(set(keys[:3]) == common for keys in got), "everyone begins with the shared ones"
    assert [len(keys) for keys in got] == [7, 7, 7]
    own = [set(keys[3:]) for keys in got]
    assert set.union(*own) == set(counts) - common
    assert sum(map(len, own)) == 12
    assert not study.places.filter(assignment__isnull=True).exists()


def test_growth_after_the_launch_adds_raters_to_the_shared_items_alone() -> None:
    study = divided()
    study_launch(study=study)
    study.refresh_from_db()
    common = {key for key, n in places_by_item(study).items() if n == 3}
    gone = sorted(common)[0]
    item_withdraw(item=study.items.get(key=gone), by=None, reason="wrong")
    study = study_update(study=study, redundancy=5)
    counts = {key: n for key, n in places_by_item(study).items() if key != gone}
    assert {key for key, n in counts.items() if n == 5} == common - {gone}
    assert Counter(counts.values()) == {5: 2, 1: 12}
    with pytest.raises(ValidationError, match="can't be changed after the launch"):
        study_update(study=study, shared_items=5)


def test_a_corrected_item_has_as_many_raters_as_before() -> None:
    study = divided()
    study_launch(study=study)
    study.refresh_from_db()
    before = places_by_item(study)
    for wanted in (1, 3):
        key = next(key for key, n in before.items() if n == wanted)
        item = study.items.get(key=key)
        made = item_correct(
            item=item,
            by=None,
            reason="typo",
            payload=item.payload | {"follow_up": "Is it corrected?"},
            gold=None,
        )
        assert made.places.filter(rehearsal=False).count() == wanted


def test_checks_are_for_everybody_and_a_rehearsal_divides_alike() -> None:
    study = divided(items=9, shared=2)
    Item.objects.filter(study=study, key="item-00").update(role=Item.Role.ATTENTION)
    rehearsal_prepare(study=study)
    counts = places_by_item(study, rehearsal=True)
    assert counts["item-00"] == 3
    assert Counter(counts.values()) == {3: 3, 1: 6}
    assert study_workload(study).places == 15
    study_launch(study=study)
    assert places_by_item(study) == counts


def test_the_draw_depends_on_the_seed_and_not_on_the_order_of_the_import() -> None:
    found = set()
    for seed in (1, 2, 3):
        study = divided(items=12, shared=3, seed=seed)
        study_launch(study=study)
        found.add(tuple(sorted(key for key, n in places_by_item(study).items() if n == 3)))
    assert len(found) > 1
    assert shared_draw([2, 0, 1], [1, 2, 3], ["a", "a", "b"], count=2) == {1, 2}
    assert shared_draw([0, 5, 1, 2, 3, 4], [1, 1, 2, 2, 3, 3], ["a"] * 4 + ["b"] * 2, count=4) == {0, 1, 4, 5}
    assert shared_draw([], [], [], count=2) == set()


def test_what_cannot_be_shared_is_refused() -> None:
    study = divided(items=4, shared=5)
    assert "5 items are for all raters, but there are only 4." in launch_faults(study)
    with pytest.raises(ValidationError, match="control arms"):
        study_update(study=study, nothing_raters=2)
    for bad in (0, -1, 1_000_001):
        with pytest.raises(ValidationError):
            study_update(study=study, shared_items=bad)
        with transaction.atomic(), pytest.raises(IntegrityError):
            Study.objects.filter(pk=study.pk).update(shared_items=bad)
    assert study_update(study=study, shared_items=None).shared_items is None


def test_a_copy_has_the_setting_and_the_launch_page_says_it() -> None:
    owner = make_user("owner", staff=True)
    study = divided(by=owner)
    copy = study_duplicate(study=study, slug="again", title="Again", material=False, by=owner)
    assert copy.shared_items == 3
    client = Client()
    client.force_login(owner)
    text = client.get(reverse("admin:annotator_study_do", args=[study.pk, "launch"])).content.decode()
    assert "15 items, raters: 3 for 3 items, 1 for each other item = 21 judgments" in text
