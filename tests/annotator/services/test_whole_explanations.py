"""Explanations are completed before new ones are begun: by one person each, or by whoever comes next."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from annotator.core.allocation import WIDTH
from annotator.models import Assignment, Judgment, Place, Study
from annotator.selectors.arms import places_planned
from annotator.services.assignment import assignment_next, assignment_return
from annotator.services.control_arms import control_items_make
from annotator.services.items import item_withdraw
from annotator.services.left_over_places import left_over_places_free
from annotator.services.place_claim import _TOGETHER, _statement
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_launch, study_update
from tests.annotator.services.collecting import work
from tests.annotator.services.control_studies import control_study, nobody_saw_two_arms
from tests.factories import make_item, make_participation, make_study, make_user, simulation_payload

pytestmark = pytest.mark.django_db


def explained(*, explanations: int, follow_ups: int = 4, launched: bool = False, **fields: Any) -> Study:
    study = make_study(**{"redundancy": 3} | fields)
    for explanation in range(explanations):
        for number in range(follow_ups):
            key = f"x{explanation:03}-{number}"
            make_item(study, key=key, instance=f"x{explanation:03}", payload=simulation_payload(key))
    if launched:
        study_launch(study=study)
        study.refresh_from_db()
    return study


def begun_and_complete(study: Study, *, rehearsal: bool = False) -> tuple[int, int]:
    """How many explanations have a judgment, and how many have all."""
    places = Place.objects.filter(study=study, rehearsal=rehearsal)
    whole = Counter(places.values_list("item__explanation", flat=True))
    done = Counter(Judgment.objects.filter(study=study).values_list("item__explanation", flat=True))
    return len(done), sum(done[one] == whole[one] for one in done)


def by_person(study: Study) -> dict[int, dict[int, int]]:
    """The number of judgments of each person, by explanation."""
    found: dict[int, dict[int, int]] = defaultdict(Counter)
    for rater, explanation in Judgment.objects.filter(study=study).values_list("rater", "item__explanation"):
        found[rater][explanation] += 1
    return found


def stopped(study: Study, share: float, *, raters: int = 12) -> tuple[int, int]:
    """Rehearse this share of the study."""
    team = rehearsal_raters(study=study, count=raters, accuracy=0.9, spread=0, seed=1)
    places = study.items.count() * 3
    assert rehearse(study=study, raters=team, seed=1, most=round(places * share)) == round(places * share)
    return begun_and_complete(study, rehearsal=True)


@pytest.mark.parametrize(("whole", "explanations", "raters"), [("spread", 60, 12), ("together", 130, 6)])
def test_a_rehearsal_that_is_stopped_at_37_percent_has_whole_explanations(
    whole: str, explanations: int, raters: int
) -> None:
    """Together, as many explanations are being worked on as there are people for: a third of the raters."""
    study = explained(explanations=explanations, follow_ups=2, whole_explanations=whole)
    begun, complete = stopped(study, 0.37, raters=raters)
    assert begun >= explanations * 0.37
    assert complete >= 0.95 * begun, (begun, complete)


def test_without_the_option_they_are_in_pieces() -> None:
    begun, complete = stopped(explained(explanations=60, follow_ups=2), 0.37)
    assert complete < 0.6 * begun, "or the test above shows nothing"


def test_which_explanations_come_first_depends_on_the_seed() -> None:
    first = set()
    for seed in (1, 2, 3, 4):
        study = explained(
            explanations=20, follow_ups=2, seed=seed, whole_explanations="spread", launched=True
        )
        item = study.items.get(pk=Place.objects.filter(study=study).order_by("position").first().item_id)
        first.add(item.instance.key)
    assert len(first) > 1
    assert first != {"x000"}


def test_the_order_does_not_depend_on_the_imports_order() -> None:
    orders = []
    for turn in (1, -1):
        study = make_study(whole_explanations="together")
        for n in [*range(5)][::turn]:
            for m in [*range(3)][::turn]:
                make_item(study, key=f"x{n}-{m}", instance=f"x{n}")
        at = {pk: position for pk, position, _ in places_planned(study)}
        orders.append({item.key: at[item.pk] for item in study.items.all()})
    assert orders[0] == orders[1]


def test_one_person_gets_all_follow_ups_of_an_explanation_in_a_row() -> None:
    study = explained(explanations=6, follow_ups=3, whole_explanations="together", launched=True)
    people = [make_participation(study, make_user()) for _ in range(9)]
    for _ in range(3):
        for person in people:
            assert len(work(person, most=1)) == 1
    assert begun_and_complete(study) == (3, 3)
    assert all(dict(one) and set(one.values()) == {3} for one in by_person(study).values())
    for _ in range(3):
        for person in people:
            work(person, most=1)
    assert begun_and_complete(study) == (6, 6)
    assert {n for one in by_person(study).values() for n in one.values()} == {3}


def test_follow_ups_are_spread_over_whoever_comes_next() -> None:
    study = explained(explanations=2, follow_ups=4, redundancy=1, whole_explanations="spread", launched=True)
    people = [make_participation(study, make_user()) for _ in range(4)]
    for _ in range(2):
        for person in people:
            work(person, most=1)
    assert begun_and_complete(study) == (2, 2)
    assert max(n for one in by_person(study).values() for n in one.values()) <= 2


def test_what_somebody_leaves_of_an_explanation_is_completed_first() -> None:
    study = explained(
        explanations=5, follow_ups=3, redundancy=2, whole_explanations="together", launched=True
    )
    leaver, stayer = (make_participation(study, make_user()) for _ in range(2))
    work(leaver, most=1)
    task = assignment_next(participation=leaver)
    assert task is not None
    assignment_return(user_id=leaver.rater.user_id, assignment_pk=task.pk, reason="tired")
    assert left_over_places_free() == 1, "their third; the second was given back at once"
    assert left_over_places_free() == 0
    work(stayer, most=3)
    assert begun_and_complete(study) == (1, 0)
    left_over_places_free()
    newcomer = make_participation(study, make_user())
    assert len(work(newcomer, most=2)) == 2
    assert begun_and_complete(study) == (1, 1)


def test_people_at_work_keep_their_explanation() -> None:
    """Nothing is offered to others while the people who began an explanation are at it, or can still begin it."""
    study = explained(
        explanations=4, follow_ups=3, redundancy=2, whole_explanations="together", launched=True
    )
    people = [make_participation(study, make_user()) for _ in range(4)]
    for person in people:
        work(person, most=1)
        assert assignment_next(participation=person) is not None
        assert left_over_places_free() == 0
    assert Place.objects.filter(study=study, freed=True).count() == 0


def test_nobody_is_sent_away_while_places_are_open() -> None:
    """At the end, somebody may get the follow-ups that others would have come to."""
    study = explained(
        explanations=1, follow_ups=3, redundancy=1, whole_explanations="together", launched=True
    )
    slow, quick = (make_participation(study, make_user()) for _ in range(2))
    assert assignment_next(participation=slow) is not None
    assert len(work(quick)) == 2


def test_an_explanation_whose_first_item_was_withdrawn_is_not_forgotten() -> None:
    study = explained(
        explanations=2, follow_ups=3, redundancy=1, whole_explanations="together", launched=True
    )
    first = Place.objects.filter(study=study).order_by("position").first()
    item_withdraw(item=first.item, by=None, reason="typo")
    person = make_participation(study, make_user())
    work(person)
    assert not Place.objects.filter(study=study, assignment=None).exists()


def test_places_added_later_have_their_items_positions() -> None:
    study = explained(
        explanations=5, follow_ups=2, redundancy=1, whole_explanations="together", launched=True
    )
    first = Place.objects.filter(study=study).order_by("position").first()
    item_withdraw(item=first.item, by=None, reason="typo")
    study_update(study=study, redundancy=2)
    positions = defaultdict(set)
    for item, position in Place.objects.filter(study=study).values_list("item", "position"):
        positions[item].add(position)
    assert {len(one) for one in positions.values()} == {1}


def test_each_arm_of_an_explanation_has_people_of_its_own() -> None:
    study = control_study(instances=4, systems=1, follow_ups=3, launched=False, redundancy=2, answer_only_raters=0,
        nothing_raters=1, whole_explanations="together")  # fmt: skip
    control_items_make(study=study)
    study_launch(study=study)
    study.refresh_from_db()
    people = [make_participation(study, make_user()) for _ in range(3)]
    for _ in range(12):
        for person in people:
            work(person, most=1)
    assert nobody_saw_two_arms(study)
    assert not Place.objects.filter(study=study, assignment=None).exists()
    assert {n for one in by_person(study).values() for n in one.values()} == {3}


def test_together_and_one_condition_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="nobody gets all follow-ups"):
        make_study(whole_explanations="together", one_condition_per_instance=True)
    make_study(whole_explanations="spread", one_condition_per_instance=True)


def test_each_part_of_the_claim_reads_a_range_of_an_index() -> None:
    study = explained(explanations=30, follow_ups=3, whole_explanations="together", launched=True)
    person = make_participation(study, make_user())
    values = {
        "study": study.pk, "cursor": WIDTH, "end": 2 * WIDTH, "rater": person.rater_id, "participation": person.pk,
        "snapshot": study.snapshot_id, "now": study.created_at, "until": study.created_at,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotator_place (study_id, item_id, number, position, freed)"
            " SELECT study_id, item_id, n, position, false FROM annotator_place, generate_series(4, 400) n WHERE number = 1"
        )
        cursor.execute("ANALYZE annotator_place")
        cursor.execute("EXPLAIN " + _statement(_TOGETHER, "true"), values)
        plan = "\n".join(row for (row,) in cursor.fetchall())
    used = plan.count("using place_open_in_layer") + plan.count("using place_freed_in_layer")
    assert used == len(_TOGETHER), plan
    assert "Seq Scan on annotator_place" not in plan


def test_studies_without_the_option_have_the_claim_that_they_had() -> None:
    study = explained(explanations=3, launched=True)
    assert "whole_explanations" not in study.snapshot.content
    assert {position for _, position, _ in places_planned(study)} == set(range(12))
    assert Assignment.objects.count() == 0
