"""Exclusions at the same moment, while many people take tasks and submit, and one that is killed in the middle."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from annotator.models import Exclusion, Judgment, Participation, Place, Replacement, Study
from annotator.services import exclusion as exclusions
from annotator.services.collect_again import collect_again, collect_again_sweep
from annotator.services.exclusion import exclusion_lift, exclusion_make
from tests.annotator.services.collecting import filled, free_places, work
from tests.factories import make_participation
from tests.faults.together import together

pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]
K, ITEMS = 4, 6


def exclude(study: Study, person: Participation) -> Exclusion:
    return exclusion_make(study=study, rater=person.rater, by=None, reason="a bot", collect_again=True)


def left(study: Study) -> Counter[str]:
    """The judgments of each item that count."""
    gone = Exclusion.objects.filter(study=study, lifted_at=None).values("rater")
    counted = Judgment.objects.filter(study=study, standing="counted").exclude(rater__in=gone)
    return Counter(counted.values_list("item__key", flat=True))


def test_two_exclusions_at_once_open_two_places_of_each_item() -> None:
    study, people = filled(people=K, items=ITEMS)
    together(lambda person: exclude(study, person), people[:2])
    assert free_places(study) == {f"item-{n}": 2 for n in range(ITEMS)}


def test_the_same_exclusion_asked_for_eight_times_at_once_opens_one_place_of_each_item() -> None:
    study, people = filled(people=K, items=ITEMS)
    made = exclusion_make(study=study, rater=people[0].rater, by=None, reason="a bot")
    opened = together(lambda _: collect_again(exclusion=made), range(8))
    assert sorted(opened) == [0] * 7 + [ITEMS]
    assert free_places(study) == {f"item-{n}": 1 for n in range(ITEMS)}


def test_exclusions_while_everybody_works_leave_k_of_each_item() -> None:
    study, people = filled(people=K, items=ITEMS)
    first = exclude(study, people[0])
    others = [make_participation(study) for _ in range(8)]

    def act(thing: Any) -> None:
        if isinstance(thing, Participation):
            work(thing)
        elif thing == "sweep":
            for _ in range(5):
                collect_again_sweep()
        else:
            exclude(study, others[thing] if thing > 3 else people[thing])

    # two of those who are just working are excluded, too
    together(act, [*others, 1, 2, 6, 7, "sweep"])
    collect_again_sweep()
    for person in others:
        person.refresh_from_db()
        work(person)
    late = [make_participation(study) for _ in range(4)] if free_places(study) else []
    for person in late:
        work(person)
    assert left(study) == {f"item-{n}": K for n in range(ITEMS)}
    assert not free_places(study)
    pairs = Counter(Judgment.objects.filter(study=study).values_list("item", "rater"))
    assert set(pairs.values()) == {1}
    assert Place.objects.filter(study=study).count() == K * ITEMS + Replacement.objects.count()
    assert first.replacements.count() == ITEMS


def test_lifting_while_the_places_are_taken_keeps_what_was_taken() -> None:
    study, people = filled(people=K, items=ITEMS)
    made = exclude(study, people[0])
    others = [make_participation(study) for _ in range(5)]
    together(
        lambda thing: exclusion_lift(exclusion=made) if thing is made else work(thing, most=2),
        [*others, made],
    )
    collect_again_sweep()
    assert not free_places(study)
    assert sum(left(study).values()) == K * ITEMS + Replacement.objects.count()


def test_a_kill_in_the_middle_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    study, people = filled(people=K, items=ITEMS)

    def killed(**about: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(exclusions, "collected_write", killed)
    with pytest.raises(KeyboardInterrupt):
        exclude(study, people[0])
    assert not Exclusion.objects.exists()
    assert not free_places(study)
    monkeypatch.undo()
    exclude(study, people[0])
    assert free_places(study) == {f"item-{n}": 1 for n in range(ITEMS)}
