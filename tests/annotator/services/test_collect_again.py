"""An exclusion opens exactly the places that it has left below k, for other people; lifting it keeps what they have done."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.core.errors import Refused
from annotator.models import (
    Assignment,
    AuditEntry,
    Exclusion,
    Judgment,
    Participation,
    Place,
    Replacement,
    Study,
    User,
)
from annotator.selectors.home import home_rows
from annotator.selectors.progress import study_progress
from annotator.services.assignment import assignment_next
from annotator.services.collect_again import collect_again, collect_again_sweep
from annotator.services.erasure import erase
from annotator.services.exclusion import exclusion_lift, exclusion_make, judgments_exclude
from annotator.services.items import item_correct, item_withdraw
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.rehearsal.places import rehearsal_clear
from annotator.services.study import study_close, study_pause, study_resume, study_update
from annotator.services.study_removal import study_rows_remove
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.collecting import filled, free_places, judges, work
from tests.annotator.services.control_studies import control_study
from tests.factories import (
    make_item,
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    simulation_payload,
)

pytestmark = pytest.mark.django_db
WHY: dict[str, Any] = {"by": None, "reason": "a bot"}


def exclude(study: Study, person: Participation, **more: Any) -> Exclusion:
    return exclusion_make(study=study, rater=person.rater, **WHY | {"collect_again": True} | more)


def test_excluding_a_rater_opens_a_place_of_each_item_that_they_judged() -> None:
    study, people = filled()
    made = exclude(study, people[0])
    assert free_places(study) == {"item-0": 1, "item-1": 1, "item-2": 1}
    assert made.replacements.count() == 3
    assert [len(work(person)) for person in people] == [0, 0], "those who judged an item never get it again"
    other = make_participation(study)
    assert len(work(other)) == 3
    assert not free_places(study)
    assert Judgment.objects.filter(study=study).count() == 9, "the excluded judgments stay"
    counted = Judgment.objects.filter(study=study, standing="counted").exclude(rater=people[0].rater)
    assert set(Counter(counted.values_list("item__key", flat=True)).values()) == {2}


def test_without_the_tick_nothing_opens() -> None:
    study, people = filled()
    made = exclude(study, people[0], collect_again=False)
    assert not free_places(study)
    assert collect_again_sweep() == 0
    assert collect_again(exclusion=made) == 3, "it can be asked for later"
    assert collect_again(exclusion=made) == 0
    assert sum(free_places(study).values()) == 3


def test_one_judgment_or_several_are_collected_again() -> None:
    study, _ = filled(people=3)
    first, *rest = study.judgments.filter(item__key="item-1").order_by("pk")
    exclusion_make(study=study, judgment=first, **WHY, collect_again=True)
    assert free_places(study) == {"item-1": 1}
    judgments_exclude(study=study, judgments=[first, *rest], **WHY, collect_again=True)
    assert free_places(study) == {"item-1": 3}
    assert len(work(make_participation(study))) == 1, "one place of an item for each person"


def test_a_judgment_is_made_up_for_once() -> None:
    study, people = filled()
    one = study.judgments.filter(rater=people[0].rater).first()
    exclusion_make(study=study, judgment=one, **WHY, collect_again=True)
    exclude(study, people[0])
    assert set(free_places(study).values()) == {1}
    assert Replacement.objects.count() == 3


def test_a_rater_whose_judgments_were_excluded_one_by_one_is_made_up_for() -> None:
    study, people = filled()
    mine = list(study.judgments.filter(rater=people[0].rater))
    judgments_exclude(study=study, judgments=mine, **WHY)
    assert not free_places(study)
    exclude(study, people[0])
    assert sum(free_places(study).values()) == 3


def test_only_what_is_below_k_is_opened() -> None:
    """Late answers hold no place, and an item that others have judged more often already needs nobody."""
    study, people = filled(people=3, items=2)
    lifted = exclude(study, people[0])
    work(make_participation(study))
    exclusion_lift(exclusion=lifted)  # now there are four of each
    exclude(study, people[1])
    assert not free_places(study), "three are left without the fourth"
    exclude(study, people[2])
    assert set(free_places(study).values()) == {1}


def test_late_answers_and_imports_hold_no_place(researcher: User) -> None:
    study = make_study(items=1, redundancy=1, launched=True, by=researcher)
    late = make_participation(study)
    task = assignment_next(participation=late)
    assert task is not None
    Assignment.objects.update(state="expired")
    Place.objects.update(assignment=None, freed=True)
    work(make_participation(study))
    turn_take(user_id=late.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    assert study.judgments.get(rater=late.rater).standing == "surplus"
    exclude(study, late)
    imported = make_judgment(study.items.get(), make_rater("elsewhere"))
    exclusion_make(study=study, judgment=imported, **WHY, collect_again=True)
    assert not free_places(study)


def test_withdrawn_and_excluded_items_are_not_collected_again() -> None:
    study, people = filled()
    one, two, _ = study.items.order_by("key")
    item_withdraw(item=one, by=None, reason="a typo")
    exclusion_make(study=study, item=two, **WHY)
    exclude(study, people[0])
    assert free_places(study) == {"item-2": 1}


def test_items_cannot_be_collected_again_and_nothing_is_stored() -> None:
    study, _ = filled()
    with pytest.raises(ValidationError, match="isn't asked about again"):
        exclusion_make(study=study, item=study.items.first(), **WHY, collect_again=True)
    assert not Exclusion.objects.exists()
    with pytest.raises(ValidationError, match="isn't asked about again"):
        collect_again(exclusion=exclusion_make(study=study, item=study.items.first(), **WHY))


def test_a_closed_study_collects_nothing_until_it_is_reopened() -> None:
    study, people = filled()
    study_close(study=study)
    judgments = list(study.judgments.all())
    for refused in (
        lambda: exclude(study, people[0]),
        lambda: judgments_exclude(study=study, judgments=judgments, **WHY, collect_again=True),
    ):
        with pytest.raises(ValidationError, match="closed"):
            refused()
    assert not Exclusion.objects.exists(), "all or nothing"
    made = exclude(study, people[0], collect_again=False)
    with pytest.raises(ValidationError, match="closed"):
        collect_again(exclusion=made)


def test_a_lifted_exclusion_is_not_collected_again() -> None:
    study, people = filled()
    made = exclusion_lift(exclusion=exclude(study, people[0], collect_again=False))
    with pytest.raises(ValidationError, match="was lifted"):
        collect_again(exclusion=made)


def test_a_paused_study_gives_the_places_out_when_it_is_resumed() -> None:
    study, people = filled()
    study_pause(study=study)
    exclude(study, people[0])
    assert sum(free_places(study).values()) == 3
    study.refresh_from_db()
    with pytest.raises(Refused, match="paused"):
        make_participation(study)
    study_resume(study=study)
    study.refresh_from_db()
    assert len(work(make_participation(study))) == 3


def test_lifting_keeps_both_judgments_and_closes_what_nobody_took() -> None:
    study, people = filled()
    made = exclude(study, people[0])
    other = make_participation(study)
    work(other, most=1)
    open_task = assignment_next(participation=other)
    assert open_task is not None
    exclusion_lift(exclusion=made)
    assert not free_places(study)
    assert Replacement.objects.count() == 2, "one that is done, one that somebody is doing"
    turn_take(user_id=other.rater.user_id, assignment_pk=open_task.pk, stage=0, raw={"helpful": "no"})
    counted = Judgment.objects.filter(study=study, standing="counted").values_list("item__key", flat=True)
    assert sorted(Counter(counted).values()) == [2, 3, 3]
    progress = study_progress(study)
    assert (progress.places, progress.done, progress.done_excluded) == (8, 8, 0)


def test_a_place_that_is_given_back_after_the_lifting_is_closed() -> None:
    study, people = filled()
    made = exclude(study, people[0])
    task = assignment_next(participation=make_participation(study))
    assert task is not None
    exclusion_lift(exclusion=made)
    Assignment.objects.filter(pk=task.pk).update(state="expired")
    Place.objects.filter(assignment=task).update(assignment=None, freed=True)
    assert collect_again_sweep() == 1
    assert not free_places(study)
    assert collect_again_sweep() == 0


def test_what_an_excluded_person_submits_later_is_made_up_for() -> None:
    study = make_study(items=2, redundancy=1, launched=True)
    person = make_participation(study)
    work(person, most=1)
    task = assignment_next(participation=person)
    assert task is not None
    exclude(study, person)
    assert sum(free_places(study).values()) == 1, "they still hold the other one"
    turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    assert collect_again_sweep() == 1
    assert set(free_places(study)) == {"item-0", "item-1"}
    assert collect_again_sweep() == 0


def test_progress_counts_the_place_that_makes_up_for_another() -> None:
    study, people = filled()
    exclude(study, people[0])
    progress = study_progress(study)
    assert (progress.places, progress.done, progress.free, progress.done_excluded) == (6, 3, 3, 0)
    work(make_participation(study))
    progress = study_progress(study)
    assert (progress.places, progress.done, progress.free) == (6, 6, 0)
    [row] = home_rows([study])
    assert (row.places, row.done) == (6, 6)


def test_more_raters_for_each_item_come_on_top() -> None:
    study, people = filled(people=2, items=2)
    exclude(study, people[0])
    study_update(study=study, redundancy=3)
    assert set(free_places(study).values()) == {2}
    for _ in range(2):
        assert len(work(make_participation(study))) == 2
    assert study_progress(study).free == 0


def test_each_control_arm_has_its_own_k() -> None:
    study = control_study(
        instances=2, systems=1, follow_ups=1, redundancy=1, answer_only_raters=0, nothing_raters=2
    )
    people = [make_participation(study) for _ in range(6)]
    for _ in range(2):
        for person in people:
            work(person, most=1)
    assert not free_places(study)
    for judgment in study.judgments.all():
        exclusion_make(study=study, judgment=judgment, **WHY, collect_again=True)
    assert free_places(study) == {"x0-s0-0": 1, "x1-s0-0": 1, "x0-s0-0 (nothing)": 2, "x1-s0-0 (nothing)": 2}


def test_the_presentation_that_was_lost_is_shown_again() -> None:
    study = make_study(hit_type="generalization_utility", redundancy=2)
    payload = {
        "question": "Can owls fly?", "options": [], "rationale": "Owls have wings.", "follow_up": "Can owlets fly?",
        "follow_up_options": [], "arms": [["follow_up"], ["question_again", "follow_up_again"]],
    }  # fmt: skip
    make_item(study, payload=payload)
    raters = rehearsal_raters(study=study, count=6, accuracy=1, spread=0, seed=1)
    rehearse(study=study, raters=raters[:2], seed=1)
    for _ in range(2):
        lost = study.judgments.exclude(replacement__isnull=False).order_by("pk").first()
        arm = lost.assignment.presentation["arm"]
        exclusion_make(study=study, judgment=lost, **WHY, collect_again=True)
        before = set(study.judgments.values_list("pk", flat=True))
        rehearse(study=study, raters=raters, seed=1)
        [made] = study.judgments.exclude(pk__in=before)
        assert made.assignment.presentation["arm"] == arm


def test_exclude_one_of_twelve_rehearsal_raters_and_collect_again() -> None:
    study = make_study(items=20, redundancy=3)
    raters = rehearsal_raters(study=study, count=12, accuracy=0.9, spread=0, seed=1)
    assert rehearse(study=study, raters=raters, seed=1) == 60
    gone = raters[4].user.rater
    affected = set(study.judgments.filter(rater=gone).values_list("item__key", flat=True))
    assert 0 < len(affected) < 20
    before = {key: judges(study, key) for key in affected}
    exclusion_make(study=study, rater=gone, **WHY, collect_again=True)
    assert free_places(study, rehearsal=True) == dict.fromkeys(affected, 1)
    assert not free_places(study), "a rehearsal opens no place for participants"
    assert rehearse(study=study, raters=raters, seed=2) == len(affected)
    for key in affected:
        [added] = judges(study, key) - before[key]
        assert added not in before[key]
        assert added != gone.pk
        assert len(judges(study, key)) == 4
    assert all(len(judges(study, key)) == 3 for key in {f"item-{n}" for n in range(20)} - affected)
    rehearsal_clear(study=study)
    assert not Replacement.objects.exists()


def test_who_had_an_earlier_version_never_gets_the_corrected_item() -> None:
    study = make_study(items=1, redundancy=3, launched=True)
    judged, skipped, working = (make_participation(study) for _ in range(3))
    work(judged)
    for person in (skipped, working):
        assert assignment_next(participation=person) is not None
    Assignment.objects.filter(participation=skipped).update(state="returned")
    Place.objects.filter(assignment__participation=skipped).update(assignment=None, freed=True)
    second = item_correct(
        item=study.items.get(), by=None, reason="typo", payload=simulation_payload("b"), gold=None
    )
    third = item_correct(item=second, by=None, reason="typo", payload=simulation_payload("c"), gold=None)
    for person in (judged, skipped, working):
        person.refresh_from_db()
        assert work(person) == []
    fresh = [make_participation(study) for _ in range(4)]
    assert [work(person) for person in fresh] == [[third.pk]] * 3 + [[]]


def test_a_barred_task_takes_no_answer() -> None:
    study = make_study(items=1, redundancy=1, launched=True)
    person = make_participation(study)
    work(person)
    item_correct(item=study.items.get(), by=None, reason="typo", payload=simulation_payload("b"), gold=None)
    barred = Assignment.objects.get(state="barred")
    with pytest.raises(Refused, match="doesn't exist"):
        turn_take(user_id=person.rater.user_id, assignment_pk=barred.pk, stage=0, raw={"helpful": "no"})


def test_an_erased_persons_place_is_not_given_out_twice() -> None:
    study, people = filled()
    exclude(study, people[0])
    erase(study=study, rater=people[0].rater, policy="delete")
    assert set(free_places(study).values()) == {1}
    assert len(work(make_participation(study))) == 3
    assert study_progress(study).free == 0
    assert not Replacement.objects.exists()


def test_a_study_with_replacements_can_be_removed() -> None:
    study, people = filled()
    exclude(study, people[0])
    work(make_participation(study))
    study_rows_remove(study=study)
    assert not Study.objects.filter(pk=study.pk).exists()
    assert not Replacement.objects.exists()


def test_the_audit_trail_says_how_many_places_were_opened_and_closed() -> None:
    study, people = filled()
    made = exclude(study, people[0])
    [entry] = AuditEntry.objects.filter(action="exclusions.collected_again")
    assert (entry.after, entry.subject is not None) == ({"places opened": 3}, True)
    exclusion_lift(exclusion=made)
    assert AuditEntry.objects.get(action="exclusions.lifted").after == {"places closed": 3}
    several = list(study.judgments.all()[:2])
    judgments_exclude(study=study, judgments=several, **WHY)
    rows = AuditEntry.objects.filter(action="exclusions.made", target__startswith="judgment ")
    assert {row.target for row in rows} == {f"judgment {one.pk}" for one in several}


@pytest.mark.parametrize("what", ["rater", "judgments"])
def test_the_number_of_queries_is_independent_of_the_judgments(what: str) -> None:
    counts = []
    for items in (2, 12):
        study, people = filled(items=items)
        mine = list(study.judgments.filter(rater=people[0].rater))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            if what == "rater":
                exclude(study, people[0])
            else:
                judgments_exclude(study=study, judgments=mine, **WHY, collect_again=True)
        counts.append(len(queries))
        assert sum(free_places(study).values()) == items
    assert counts[0] == counts[1]
