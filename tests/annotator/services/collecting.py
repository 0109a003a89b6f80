"""Studies that people have filled, for tests of exclusions that other people make up for."""

from __future__ import annotations

from collections import Counter
from typing import Any

from annotator.models import Judgment, Participation, Place, Study
from annotator.services.assignment import assignment_next
from annotator.services.submit_and_next import turn_take
from tests.factories import make_participation, make_study, make_user


def work(person: Participation, *, most: int | None = None) -> list[int]:
    """Have a person do the tasks that they are given; the items' ids."""
    done: list[int] = []
    while most is None or len(done) < most:
        task = assignment_next(participation=person)
        if task is None:
            break
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
        done.append(task.item_id)
    return done


def filled(*, people: int = 2, items: int = 3, **fields: Any) -> tuple[Study, list[Participation]]:
    """A study whose places are all taken, by as many people as each item has places."""
    study = make_study(items=items, **{"redundancy": people, "launched": True} | fields)
    raters = [make_participation(study, make_user()) for _ in range(people)]
    for one in raters:
        assert len(work(one)) == items
    return study, raters


def free_places(study: Study, *, rehearsal: bool = False) -> Counter[str]:
    """The number of free places of each item that has any."""
    free = Place.objects.filter(study=study, assignment__isnull=True, rehearsal=rehearsal)
    return Counter(free.values_list("item__key", flat=True))


def judges(study: Study, key: str) -> set[int]:
    """Who has judged an item."""
    return set(Judgment.objects.filter(study=study, item__key=key).values_list("rater", flat=True))
