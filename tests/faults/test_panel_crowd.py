"""A paid study over HTTP: two hundred people from the stand-in of Prolific, of whom a third leave in every way that there is.

Web process, worker and stand-in are servers of their own. Webhooks are lost, doubled and reordered, and the panel's API is down for a
minute in the middle of a payment, while people go on working. ``CROWD_PEOPLE`` says how many people come.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.db.models import Sum

from annotator.models import Judgment, PanelStudy, Participation, PayBatch, Study, User
from annotator.recruitment.stand_in.books import Outage, ProlificBooks
from annotator.recruitment.stand_in.links import ISSUER
from annotator.recruitment.stand_in.server import StandIn
from annotator.recruitment.webhooks import status_read
from annotator.selectors.owed import balances_of
from annotator.selectors.panel_plan import people_needed
from annotator.selectors.pay_batch import pay_proposal
from annotator.selectors.top_up import top_up_of
from annotator.services.rehearsal.panel_people import ALL_FATES, PanelPeople
from foretell.celery import app
from tests.factories import make_user
from tests.panel_crowd import CODES, Researcher, Webhooks, cents, in_background, paid_study
from tests.processes import WebProcess, WorkerProcess, wait_until
from tests.prolific_description import description
from tests.signing_key import signing_key

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault]
PEOPLE = int(os.environ.get("CROWD_PEOPLE", "200"))
DOWN = 60.0
SETUP_OF_BONUSES = "POST /api/v1/submissions/bonus-payments"


class Panel:
    """The stand-in as a server, which can refuse connections."""

    def __init__(self) -> None:
        self.books = ProlificBooks(checks=description())
        self.books.signer.keys = {"key-1": signing_key()}
        self.port = 0
        self.start()

    def start(self) -> None:
        self.server = StandIn(self.books, port=self.port)
        self.port = self.server.server_address[1]
        in_background(self.server.serve_forever, 0.02)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def settings(self) -> dict[str, str]:
        url = self.books.url
        keys = f"{url}/.well-known/study/jwks.json"
        return {"PROLIFIC_API_URL": url, "PROLIFIC_KEYS_URL": keys, "PROLIFIC_ISSUER": ISSUER}

    def down(self, begins: str) -> threading.Thread:
        """The API is down for a minute from the next request of this kind on: first it fails, then it refuses connections."""
        outage = self.books.outage = Outage(begins, DOWN)

        def away() -> None:
            wait_until(lambda: outage.since, 600, "the outage begins")
            time.sleep(DOWN / 2)
            self.stop()
            time.sleep(DOWN / 2)
            self.start()

        return in_background(away)


@pytest.fixture
def researcher() -> User:
    return make_user("rosa", staff=True)


@contextmanager
def running(folder: Path) -> Iterator[tuple[Panel, WebProcess]]:
    redis.Redis.from_url(settings.CELERY_BROKER_URL).flushdb()
    panel = Panel()
    # The beat of `make run`, which is part of its worker.
    worker = WorkerProcess(
        folder, SOLE_WORKER="1", WORKER_CONCURRENCY="1", DATA_DIR=str(folder), **panel.settings
    )
    web = WebProcess(folder, WEB_WORKERS="2", JOINS_PER_ADDRESS="10000", **panel.settings)
    try:
        for process in (web, worker):
            process.start()
        yield panel, web
    finally:
        web.stop()
        worker.stop()
        panel.stop()


def test_two_hundred_people_are_answered_and_paid_to_the_cent(tmp_path: Path, researcher: User) -> None:
    study = paid_study(researcher, people=PEOPLE)
    with running(tmp_path) as (panel, web):
        books, desk = panel.books, Researcher(web, researcher, study)
        row = desk.publish(places=people_needed(study).people, most_places=PEOPLE * 2)
        people, webhooks, enough = PanelPeople(books, at_once=6), Webhooks(books), threading.Event()
        coming = in_background(people.run, enough)

        wait_until(lambda: people.came >= PEOPLE // 5, 600, "some people have come")
        outage = pay_while_the_api_is_down(panel, desk, webhooks)
        until_it_is_complete(row, webhooks)
        enough.set()
        coming.join()
        outage.join()
        wait_until(
            lambda: PayBatch.objects.get().finished_at, 600, "the interrupted batch continues by itself"
        )

        wait_until(lambda: settled(row, webhooks), 300, "both sides agree about everybody")
        places_are_right(study, row, books, people)
        everybody_was_answered(study, row, books, people, webhooks)
        pay_the_rest(desk, row, webhooks, books)
        money_is_right(study, row, books)
        assert books.invalid == []


def pay_while_the_api_is_down(panel: Panel, desk: Researcher, webhooks: Webhooks) -> threading.Thread:
    """Pay what was done so far. The API goes down after the approvals, and later loses the reply to the request that pays."""

    def some_wait_for_review() -> bool:
        webhooks.send()
        compare()
        time.sleep(0.5)
        return desk.study.participations.filter(panel_status="AWAITING REVIEW").count() >= PEOPLE // 20

    wait_until(some_wait_for_review, 300, "some work can be paid")
    desk.accept()
    outage = panel.down(SETUP_OF_BONUSES)
    panel.books.troubles = [("/pay/", "500 after")]
    batch = desk.pay()
    batch.refresh_from_db()
    assert panel.books.outage is not None
    assert panel.books.outage.since is not None
    assert batch.finished_at is None
    assert batch.fault
    assert "continued by itself" in desk.get("payments/panel/")
    return outage


def compare() -> None:
    """What beat sends every five minutes."""
    app.send_task("annotator.panel_reconcile_sweep")


def until_it_is_complete(row: PanelStudy, webhooks: Webhooks) -> None:
    """Send webhooks, and let the worker compare both sides, until every place is answered and the study there is stopped."""
    compared = 0.0

    def ended() -> bool:
        nonlocal compared
        webhooks.send()
        if time.monotonic() - compared > 3:
            compared = time.monotonic()
            compare()
        return PanelStudy.objects.get(pk=row.pk).state == "ended" and people_needed(row.study).complete

    wait_until(ended, 600, "every place is answered")


def settled(row: PanelStudy, webhooks: Webhooks) -> bool:
    """Whether the study here knows the last status of every submission."""
    webhooks.send()
    compare()
    time.sleep(0.5)
    there = {one["id"]: status_read(one["status"]) for one in webhooks.books.submissions.values()}
    here = dict(row.study.participations.values_list("recruiter_session", "panel_status"))
    return all(there[submission] == status for submission, status in here.items())


def places_are_right(study: Study, row: PanelStudy, books: ProlificBooks, people: PanelPeople) -> None:
    row.refresh_from_db()
    there = books.studies[row.remote_id]
    assert row.most_places is not None
    assert books.taken(row.remote_id) <= there["total_available_places"] <= row.most_places
    assert people.came >= PEOPLE
    assert (
        study.places.filter(rehearsal=False, assignment__state="submitted").count() == study.items.count() * 2
    )


def everybody_was_answered(
    study: Study, row: PanelStudy, books: ProlificBooks, people: PanelPeople, webhooks: Webhooks
) -> None:
    """Everybody saw a code or what to do, every code that was entered is the one that was due, and both sides say the same."""
    assert people.faults == []
    assert people.unanswered == []
    assert set(people.ends) >= ALL_FATES
    left = people.came - people.ends["works"]
    assert 0.25 <= left / people.came <= 0.35
    mine = list(books.submissions.values())
    assert len(mine) == people.came
    entered = Counter(one["code"] for one in mine if one["code"])
    row.refresh_from_db()
    assert {CODES[name]: number for name, number in row.exits.items()} == dict(entered)
    assert entered["EXAM"] == people.ends["fails"]
    assert entered["NO"] == people.ends["declines"]
    assert entered["DONE"] <= people.ends["works"] + people.ends["has nothing left"]
    assert not {"ACTIVE", "RESERVED"} & {one["status"] for one in mine}
    here = dict(study.participations.values_list("recruiter_session", "panel_status"))
    assert here == {one["id"]: status_read(one["status"]) for one in mine if one["id"] in here}
    assert webhooks.outcomes["sent"] < webhooks.outcomes["waiting"] * 1.2, "some were lost"
    assert webhooks.outcomes["repeated"] > 0, "some came twice"
    assert webhooks.outcomes["older"] > 0, "some came after a later one"


def pay_the_rest(desk: Researcher, row: PanelStudy, webhooks: Webhooks, books: ProlificBooks) -> None:
    """Accept and pay what was done since. Whoever did a part of it returns their submission, and gets what they earned as a bonus."""
    desk.accept()
    left_out = {one.name for one in pay_proposal(desk.study).left_out}
    for one in Participation.objects.filter(study=desk.study, rater__name__in=left_out):
        books.move(one.recruiter_session, "RETURNED")
    wait_until(lambda: settled(row, webhooks), 300, "the returned submissions are known")
    assert pay_proposal(desk.study).left_out == ()
    batch = desk.pay()
    batch.refresh_from_db()
    assert batch.finished_at, batch.fault


def money_is_right(study: Study, row: PanelStudy, books: ProlificBooks) -> None:
    """The ledger and the stand-in's books agree to the cent for everybody; nobody waits for a decision or earns less than the floor."""
    balances = balances_of(study)
    assert {one.recruiter_id: cents(one.paid) for one in balances if one.paid} == books.paid_in(row.remote_id)
    assert all(one.payable == 0 and one.items + one.exam + one.bonus == one.paid for one in balances)
    assert not pay_proposal(study).payments
    assert {one["status"] for one in books.submissions.values()} <= {
        "APPROVED",
        "SCREENED OUT",
        "RETURNED",
        "TIMED-OUT",
    }
    floor = study.pay_floor_per_hour
    assert floor is not None
    worked = dict(Judgment.objects.filter(study=study).values_list("rater").annotate(seconds=Sum("seconds")))
    for one in balances:
        assert one.paid >= one.done * Decimal(study.minutes_per_item) * floor / 60, (
            "by the minutes that the study promises"
        )
        assert one.paid >= Decimal(str(worked.get(one.rater) or 0)) * floor / 3600, (
            "by the time that it took them"
        )
    assert top_up_of(study).amounts == ()
