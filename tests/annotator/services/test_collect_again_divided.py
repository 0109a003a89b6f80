"""Collecting again where some items are for all raters and the others are divided between them."""

from __future__ import annotations

from collections import Counter

import pytest

from annotator.models import Judgment, Participation, Place, Study
from annotator.selectors.arms import places_planned
from annotator.services.exclusion import exclusion_make
from annotator.services.items import item_correct
from tests.annotator.services.collecting import free_places, work
from tests.factories import make_participation, make_study, simulation_payload

pytestmark = pytest.mark.django_db


def exclude(study: Study, person: Participation) -> None:
    exclusion_make(study=study, rater=person.rater, by=None, reason="a bot", collect_again=True)


def test_where_items_are_divided_each_keeps_its_own_number_of_raters() -> None:
    """An item that one rater gets isn't given to as many as the shared ones."""
    study = make_study(items=6, redundancy=3, shared_items=2, launched=True)
    people = [make_participation(study) for _ in range(3)]
    work(people[0], most=4)
    work(people[1])
    work(people[2])
    assert not free_places(study)
    own = Counter(Place.objects.filter(study=study).values_list("item__key", flat=True))
    assert sorted(own.values()) == [1, 1, 1, 1, 3, 3]
    exclude(study, people[0])
    judged = set(Judgment.objects.filter(rater=people[0].rater).values_list("item__key", flat=True))
    assert len(judged) == 4
    assert free_places(study) == Counter(judged)
    other = make_participation(study)
    assert len(work(other)) == 4
    assert not free_places(study)


def test_a_divided_item_that_was_replaced_is_still_divided() -> None:
    study = make_study(items=4, redundancy=3, shared_items=1, launched=True)
    first, second = make_participation(study), make_participation(study)
    work(first)
    work(second)
    exclude(study, first)
    work(make_participation(study))
    before = {item: raters for item, _, raters in places_planned(study)}
    assert sorted(before.values()) == [1, 1, 1, 3]
    divided = next(item for item in study.items.all() if before[item.pk] == 1)
    corrected = item_correct(item=divided, payload=simulation_payload(9), gold=None, reason="a typo", by=None)
    assert corrected.places.count() == 1
