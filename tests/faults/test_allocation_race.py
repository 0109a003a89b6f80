"""Tasks taken at the same time: arms stay balanced, and each person gets one condition."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from annotator.core.errors import Refused
from annotator.hit_types.registry import hit_types
from annotator.models import Assignment, Participation, Place, Study, User
from annotator.services.assignment import assignment_next, assignment_return, leases_expire
from annotator.services.participation import annotator_create, participation_join
from annotator.services.study import study_launch
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.template_studies import TEMPLATES, seen_of, template_study
from tests.factories import make_item, make_participation, make_study, make_user
from tests.faults.armed_studies import ARMS, armed_study
from tests.faults.together import together

pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]


def arms_of(study: Study) -> list[Counter[int]]:
    """The arms held of each item."""
    found: dict[int, Counter[int]] = {item: Counter() for item in study.items.values_list("pk", flat=True)}
    for item, drawn in Assignment.objects.filter(place__isnull=False).values_list("item", "presentation"):
        found[item][drawn["arm"]] += 1
    return list(found.values())


def within_one(counts: Counter[int]) -> bool:
    return max(counts[a] for a in range(3)) - min(counts[a] for a in range(3)) <= 1


def test_arms_of_an_item_that_many_take_at_once_stay_within_one():
    study = armed_study(items=1, places=12)
    people = [make_participation(study) for _ in range(10)]
    given = together(lambda person: assignment_next(participation=person), people)
    assert all(given)
    assert all(one.presentation["arm"] in (0, 1, 2) for one in given)
    [counts] = arms_of(study)
    assert counts.total() == 10
    assert within_one(counts), counts
    # All leases of one arm expire: the next people get that arm.
    gone = [one.pk for one in given if one.presentation["arm"] == 0]
    Assignment.objects.filter(pk__in=gone).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert leases_expire() == len(gone)
    together(
        lambda person: assignment_next(participation=person),
        [make_participation(study) for _ in range(12 - 10 + len(gone))],
    )
    [counts] = arms_of(study)
    assert counts == Counter({0: 4, 1: 4, 2: 4})


def work(person: Participation) -> int:
    """Answer until nothing is left."""
    done, assignment = 0, assignment_next(participation=person)
    while assignment is not None:
        steps = ARMS[assignment.presentation["arm"]]
        field = {
            "follow_up": "follow_up_before", "question_again": "after", "follow_up_again": "follow_up_after",
        }[steps[assignment.stage]]  # fmt: skip
        turn = turn_take(
            user_id=person.rater.user_id,
            assignment_pk=assignment.pk,
            stage=assignment.stage,
            raw={field: "yes"},
        )
        done += turn.submitted.finished
        assignment = turn.assignment
    return done


def test_arms_are_balanced_over_the_whole_study_when_many_work_at_once():
    study = armed_study(items=7, places=4)
    done = together(work, [make_participation(study) for _ in range(8)])
    assert sum(done) == 28
    items = arms_of(study)
    assert all(counts.total() == 4 and within_one(counts) for counts in items), items
    assert within_one(sum(items, Counter())), items


def one_instance(*, studies: int) -> list[Study]:
    """Studies with three conditions of the same instance; each study allows one per person."""
    made = [make_study(one_condition_per_instance=True, redundancy=3) for _ in range(studies)]
    instance = None
    for study in made:
        for condition in ("a", "b", "c"):
            item = make_item(
                study, key=f"{study.slug}-{condition}", instance="I", system=f"robot-{condition}"
            )
            instance = instance or item.instance
            item.instance = instance
            item.save(update_fields=["instance"])
        study_launch(study=study)
        study.refresh_from_db()
    return made


def test_one_person_with_eight_windows_gets_one_condition_of_an_instance():
    user = make_user()
    [study] = one_instance(studies=1)
    person = make_participation(study, user)
    together(lambda person: assignment_next(participation=person), [person] * 8)
    assert Assignment.objects.filter(rater__user=user).count() == 1


def test_one_person_in_two_studies_at_once_gets_one_condition_of_an_instance():
    user = make_user()
    first, second = (make_participation(study, user) for study in one_instance(studies=2))

    def elsewhere() -> Assignment | None:
        try:
            return assignment_next(participation=second)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=1) as pool:
        with transaction.atomic():
            assert assignment_next(participation=first)
            other = pool.submit(elsewhere)
            wait([other], timeout=2)  # enough time to fail if it doesn't wait for our transaction
        assert other.result(timeout=300) is None


STAGED = [
    name for name in TEMPLATES if hit_types()[name.partition("/")[0]].defaults.one_condition_per_instance
]


@pytest.mark.parametrize("name", STAGED)
def test_windows_in_two_studies_of_a_template_never_show_one_input_twice(name: str) -> None:
    """Each study's import creates its own instances, but the same question still counts as the same."""
    slug = name.replace("_", "-").replace("/", "-")
    studies = [template_study(name, f"{slug}-{number}") for number in (1, 2)]
    user = make_user()
    windows = [make_participation(study, user) for study in studies] * 4
    for _ in range(3):
        together(lambda person: assignment_next(participation=person), windows)
        assert max(seen_of(user.pk).values()) == 1
        for assignment in Assignment.objects.filter(rater__user=user, state="leased"):
            assignment_return(user_id=user.pk, assignment_pk=assignment.pk, reason="the next one")
    assert len(seen_of(user.pk)) > 1


def test_a_guest_who_asks_in_many_studies_at_once_gets_one_place():
    guest = annotator_create()
    people = [make_participation(make_study(items=2, launched=True), guest) for _ in range(8)]

    def ask(person: Participation) -> str:
        try:
            given = assignment_next(participation=person)
        except Refused as refusal:
            return refusal.kind
        return "given" if given else "nothing"

    assert Counter(together(ask, people)) == {"given": 1, "elsewhere": 7}
    assert Assignment.objects.filter(state="leased").count() == 1
    assert Place.objects.filter(assignment__isnull=False).count() == 1


def test_people_who_join_at_once_do_not_exceed_the_limit_of_the_hour():
    study = make_study(items=2, launched=True, joins_per_hour=3)

    def join(user: User) -> bool:
        try:
            participation_join(study=study, user=user)
        except Refused:
            return False
        return True

    assert sum(together(join, [make_user() for _ in range(10)])) == 3
    assert Participation.objects.filter(study=study).count() == 3
