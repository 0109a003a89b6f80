"""Two hundred annotators at once in a study with control arms, while web processes are killed: nobody sees two arms of an input."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from annotator.hit_types.arms import arm_of
from annotator.models import Assignment, Judgment, Place
from annotator.services.assignment import assignment_next
from tests.annotator.services.control_studies import control_study, nobody_saw_two_arms, raters_of
from tests.factories import make_participation, make_user
from tests.faults.http_annotator import Annotator
from tests.faults.together import together
from tests.processes import WebProcess

KILLS = 4
PEOPLE = 200
pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def web(tmp_path):
    process = WebProcess(tmp_path, JOINS_PER_ADDRESS="1000")
    process.start()
    yield process
    process.stop()


def test_nobody_sees_two_arms_whatever_is_killed(web):
    study = control_study(
        instances=20,
        systems=2,
        follow_ups=2,
        redundancy=3,
        answer_only_raters=3,
        nothing_raters=3,
        joins_per_hour=None,
    )
    places = 20 * 2 * 2 * 9
    people = [Annotator(web.url, study.join_token, study.slug) for _ in range(PEOPLE)]
    done = threading.Event()

    def killer() -> None:
        for number in range(1, KILLS + 1):
            while sum(len(person.acknowledged) for person in people) < number * places // (KILLS + 2):
                if done.wait(0.02):
                    return
            web.kill()
            web.start()

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        with ThreadPoolExecutor(max_workers=PEOPLE) as pool:
            list(pool.map(Annotator.work, people))
    finally:
        done.set()
        thread.join()
    assert sum(person.resent for person in people) > 0, "no request was interrupted by a kill"
    assert raters_of(study) > PEOPLE // 4, (
        "a few did everything"
    )  # on a slow machine, the last ones come too late
    assert nobody_saw_two_arms(study)
    counted = Judgment.objects.filter(study=study, standing="counted").values_list("item", "item__payload")
    by_item = Counter(item for item, _ in counted)
    assert max(by_item.values()) <= 3
    held = Assignment.objects.filter(place__isnull=False, item__study=study).values_list(
        "item__payload", flat=True
    )
    assert Counter(map(arm_of, held)) == {"": places // 3, "answer_only": places // 3, "nothing": places // 3}
    assert not Place.objects.filter(study=study, assignment__isnull=True).exists()


def test_one_person_with_eight_windows_gets_one_arm_of_each_input():
    studies = [control_study(instances=3, slug=f"arms-{number}") for number in (1, 2)]
    user = make_user()
    windows = [make_participation(study, user) for study in studies] * 4
    for _ in range(3):
        together(lambda person: assignment_next(participation=person), windows)
        Assignment.objects.filter(rater__user=user, state="leased").update(state="expired")
        Place.objects.filter(assignment__state="expired").update(assignment=None, freed=True)
    assert nobody_saw_two_arms(*studies)
