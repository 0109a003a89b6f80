"""A reviewer accepts work in bulk, downloads what is owed and marks it as paid."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.models import LedgerEntry, Participation, Review, Study, User
from annotator.services.assignment import assignment_next
from annotator.services.submit_and_next import turn_take
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(items=4, launched=True, redundancy=3, pay_per_item="0.25", by=researcher)


def work(study: Study, turns: int) -> Participation:
    person = make_participation(study)
    for _ in range(turns):
        task = assignment_next(participation=person)
        assert task is not None
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    return person


def url(study: Study, rest: str = "") -> str:
    return f"/admin/annotator/study/{study.pk}/payments/{rest}"


def owed_fields(html: str) -> dict[str, str]:
    return dict(re.findall(r'name="(owed-\d+)" value="([^"]*)"', html))


def test_work_is_accepted_exported_and_paid(researcher_client: Client, study: Study) -> None:
    ann, ben = work(study, 3), work(study, 1)
    reply = researcher_client.post(url(study), {"accept": "1", "rater": [ann.rater_id]}, follow=True)
    assert "3 judgments accepted." in reply.content.decode()
    assert Review.objects.count() == 3
    researcher_client.post(url(study), {"accept_all": "1"})
    shown = researcher_client.get(url(study)).content.decode()
    fields = owed_fields(shown)
    assert fields == {f"owed-{ann.rater_id}": "0.75", f"owed-{ben.rater_id}": "0.25"}
    csv = researcher_client.get(url(study, "owed.csv")).content.decode()
    assert re.search(rf"{ann.rater.name},.*,0.75\r\n", csv)

    sent: dict[str, Any] = {
        "paid": "1",
        "reference": "batch 9",
        "rater": [ann.rater_id, ben.rater_id],
    } | fields
    reply = researcher_client.post(url(study), sent, follow=True)
    assert "Recorded 1.00 USD as paid to 2 participants." in reply.content.decode()
    again = researcher_client.post(url(study), sent, follow=True)
    assert "already paid under this reference" in again.content.decode()
    paid = LedgerEntry.objects.filter(kind="payment", reference="batch 9")
    assert sum((entry.amount for entry in paid), Decimal(0)) == 1


def test_a_bonus_is_owed_and_errors_are_shown_at_their_fields(
    researcher_client: Client, study: Study
) -> None:
    ann = work(study, 1)
    bonus = url(study, f"bonus/{ann.rater_id}/")
    wrong = researcher_client.post(bonus, {"amount": "-1", "reason": "x"})
    assert wrong.status_code == 400
    assert 'id="id_amount_error"' in wrong.content.decode()
    assert researcher_client.post(bonus, {"amount": "2.50", "reason": "careful"}).status_code == 302
    assert owed_fields(researcher_client.get(url(study)).content.decode()) == {f"owed-{ann.rater_id}": "2.50"}


def test_the_number_of_queries_is_independent_of_the_number_of_participants(
    researcher_client: Client, study: Study
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert researcher_client.get(url(study)).status_code == 200
        return len(seen)

    work(study, 1)
    queries()
    few = queries()
    for _ in range(2):
        work(study, 1)
    assert queries() == few <= 20
