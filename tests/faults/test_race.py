"""A hundred annotators at once, over HTTP, against real web processes."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from django.db.models import Count

from annotator.models import Assignment, Judgment, Place
from annotator.services.rehearsal.over_http import hidden_fields
from tests.factories import make_study
from tests.faults.http_annotator import FORM, Annotator
from tests.processes import WebProcess

KILLS = 8
pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]


def annotators(web: WebProcess, study, count: int) -> list[Annotator]:  # type: ignore[no-untyped-def]
    return [Annotator(web.url, study.join_token, study.slug) for _ in range(count)]


def play(people: list[Annotator]) -> list[Annotator]:
    with ThreadPoolExecutor(max_workers=len(people)) as pool:
        list(pool.map(Annotator.work, people))
    return people


def balances(study, people: list[Annotator]) -> None:  # type: ignore[no-untyped-def]
    """Compare the clients' ledger with the database: nothing lost, nothing twice, no item over k."""
    acknowledged = [pk for person in people for pk in person.acknowledged]
    judgments = Judgment.objects.filter(study=study)
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= set(judgments.values_list("assignment_id", flat=True)), "lost"
    over = (
        judgments.filter(standing="counted")
        .values("item")
        .annotate(n=Count("id"))
        .filter(n__gt=study.redundancy)
    )
    assert not over.exists()
    twice = judgments.values("item", "rater").annotate(n=Count("id")).filter(n__gt=1)
    assert not twice.exists()
    hands = Assignment.objects.filter(state="leased").values("rater").annotate(n=Count("id")).filter(n__gt=1)
    assert not hands.exists(), "somebody has two tasks in hand"


@pytest.fixture
def web(tmp_path):
    process = WebProcess(tmp_path)
    process.start()
    yield process
    process.stop()


def test_a_hundred_annotators_at_once_at_k_3(web):
    study = make_study(items=60, redundancy=3, launched=True)
    people = play(annotators(web, study, 100))
    statuses = sum((person.statuses for person in people), Counter())
    assert not [code for code in statuses if code >= 500], statuses
    balances(study, people)
    assert Judgment.objects.filter(study=study, standing="counted").count() == 180
    assert sum(len(person.acknowledged) for person in people) == 180
    assert statuses[409] == statuses[422] == 0


def test_a_race_for_the_last_place_has_one_winner_and_no_error(web):
    study = make_study(items=1, redundancy=1, launched=True)
    people = play(annotators(web, study, 40))
    assert sum(len(person.acknowledged) for person in people) == 1
    assert not [code for person in people for code in person.statuses if code >= 500]
    assert Judgment.objects.filter(study=study).count() == 1


def test_the_ledger_balances_when_web_processes_are_killed(web):
    study = make_study(items=60, redundancy=3, launched=True)
    people = annotators(web, study, 30)
    done = threading.Event()

    def killer() -> None:
        # By progress and not by the clock, so that a fast machine is interrupted too, and a slow one makes progress.
        for number in range(KILLS):
            while sum(len(person.acknowledged) for person in people) < number * 180 // (KILLS + 1):
                if done.wait(0.02):
                    return
            web.kill()
            web.start()

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        play(people)
    finally:
        done.set()
        thread.join()
    balances(study, people)
    assert sum(person.resent for person in people) > 0, "no request was interrupted by a kill"
    free = Place.objects.filter(study=study, assignment__isnull=True).count()
    held = Assignment.objects.filter(state="leased").count()
    counted = Judgment.objects.filter(study=study, standing="counted").count()
    assert counted + free + held == 180
    # Somebody whose reply to joining was lost joins again as a new person; the first one's places wait for their leases.
    assert free == 0


def test_fifty_identical_submits_in_parallel_are_one_judgment(web):
    study = make_study(items=2, launched=True)
    person = Annotator(web.url, study.join_token, study.slug)
    person.work(most=0)
    page = person.send("GET", f"/study/{study.slug}/task/")
    task = FORM.search(page.text)
    assert task
    data = hidden_fields(task.group(3)) | {"helpful": "no"}
    cookies = dict(person.client.cookies)
    headers = {"X-CSRFToken": cookies["csrftoken"], "Referer": web.url, "HX-Request": "true"}

    def once(_: int) -> tuple[int, str]:
        with httpx2.Client(base_url=web.url, cookies=cookies, timeout=300) as client:
            reply = client.post(task.group(1), data=data, headers=headers)
            following = FORM.search(reply.text)
            return reply.status_code, following.group(2) if following else ""

    with ThreadPoolExecutor(max_workers=50) as pool:
        replies = set(pool.map(once, range(50)))
    assert len(replies) == 1, replies
    assert next(iter(replies))[0] == 200
    assert Judgment.objects.count() == 1
    other = data | {"helpful": "yes", "answer": "yes"}
    with httpx2.Client(base_url=web.url, cookies=cookies, timeout=300) as client:
        assert client.post(task.group(1), data=other, headers=headers).status_code == 409
    assert Judgment.objects.get().response == {"helpful": "no"}
