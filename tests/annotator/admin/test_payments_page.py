"""A reviewer accepts work in bulk, downloads what is owed and marks it as paid."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.models import AuditEntry, LedgerEntry, Participation, Review, Study, User
from annotator.services.assignment import assignment_next
from annotator.services.exclusion import exclusion_make
from annotator.services.message import message_send
from annotator.services.study import study_close
from annotator.services.submit_and_next import turn_take
from tests.factories import make_participation, make_study, make_user

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
    reply = researcher_client.post(
        url(study), {"accept": "1", "sure": "1", "rater": [ann.rater_id]}, follow=True
    )
    assert "3 judgments accepted." in reply.content.decode()
    assert Review.objects.count() == 3
    researcher_client.post(url(study), {"accept": "1", "sure": "1", "rater": [ben.rater_id]})
    shown = researcher_client.get(url(study)).content.decode()
    fields = owed_fields(shown)
    assert fields == {f"owed-{ann.rater_id}": "0.75", f"owed-{ben.rater_id}": "0.25"}
    csv = researcher_client.get(url(study, "owed.csv")).content.decode()
    assert re.search(rf"{ann.rater.name},.*,0.75\r\n", csv)

    sent: dict[str, Any] = {
        "paid": "1",
        "sure": "1",
        "reference": "batch 9",
        "rater": [ann.rater_id, ben.rater_id],
    } | fields
    reply = researcher_client.post(url(study), sent, follow=True)
    assert "Recorded 1.00 USD as paid to 2 participants." in reply.content.decode()
    again = researcher_client.post(url(study), sent, follow=True)
    assert "already paid under this reference" in again.content.decode()
    paid = LedgerEntry.objects.filter(kind="payment", reference="batch 9")
    assert sum((entry.amount for entry in paid), Decimal(0)) == 1


def test_many_participants_are_shown_some_at_a_time_and_paid_together(
    researcher_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotator.admin.study_pages.payments.PAGE", 2)
    people = [work(study, 1) for _ in range(3)]
    pages = [researcher_client.get(url(study, query)).content.decode() for query in ("", "?from=2")]
    assert [page.count('type="checkbox" name="rater"') for page in pages] == [2, 1]
    assert "From participant 3 of 3" in pages[1]
    confirm = researcher_client.post(url(study), {"accept_all": "1"}).content.decode()
    assert all(f'name="rater" value="{person.rater_id}"' in confirm for person in people)


def test_more_than_a_thousand_fields_are_read(researcher_client: Client, study: Study) -> None:
    work(study, 1)
    fields = {f"owed-{number}": "1.00" for number in range(1, 1_200)}
    reply = researcher_client.post(url(study), {**fields, "accept_all": "1"})
    assert reply.status_code == 200


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


def test_nothing_is_accepted_or_recorded_before_it_is_confirmed(
    researcher_client: Client, study: Study
) -> None:
    ann, ben = work(study, 3), work(study, 1)
    asked = researcher_client.post(url(study), {"accept_all": "1"}).content.decode()
    assert "Accept 4 judgments?" in asked
    assert "<strong>1.00 USD</strong>" in asked
    assert not Review.objects.exists()
    researcher_client.post(url(study), {"accept": "1", "sure": "1", "rater": [ann.rater_id, ben.rater_id]})
    shown = researcher_client.get(url(study)).content.decode()
    assert " checked" not in shown.split("<tbody>")[1], "nobody is paid by an overlooked tick"
    assert "Accepted work" in shown
    assert re.search(
        r'<td class="fk-number">4</td><td class="fk-number">2</td><td class="fk-number">1.00</td>', shown
    )
    asked = researcher_client.post(url(study), {"paid_all": "1", "reference": "b"}).content.decode()
    assert "Mark 2 participants as paid?" in asked
    assert "<strong>1.00 USD</strong>" in asked
    assert not LedgerEntry.objects.exists()
    sent = {"paid": "1", "sure": "1", "reference": "b", "rater": [ann.rater_id, ben.rater_id]} | owed_fields(
        asked
    )
    assert "Recorded 1.00 USD" in researcher_client.post(url(study), sent, follow=True).content.decode()


def test_a_record_of_payment_can_be_undone(researcher_client: Client, study: Study, researcher: User) -> None:
    ann = work(study, 2)
    researcher_client.post(url(study), {"accept": "1", "sure": "1", "rater": [ann.rater_id]})
    sent = {
        "paid": "1",
        "sure": "1",
        "reference": "b 1",
        "rater": [ann.rater_id],
        f"owed-{ann.rater_id}": "0.50",
    }
    assert "Undo “b 1”" in researcher_client.post(url(study), sent, follow=True).content.decode()
    reply = researcher_client.post(url(study), {"undo": "b 1"}, follow=True).content.decode()
    assert "The record of 1 payment was undone." in reply
    assert owed_fields(reply) == {f"owed-{ann.rater_id}": "0.50"}
    entry = AuditEntry.objects.get(action="payments.undone")
    assert (entry.after["reference"], entry.actor) == ("b 1", researcher)
    again = researcher_client.post(url(study), {"undo": "b 1"}, follow=True).content.decode()
    assert "No payment is recorded under this reference." in again
    assert "Recorded 0.50 USD" in researcher_client.post(url(study), sent, follow=True).content.decode()


def test_excluded_peoples_work_is_accepted_only_if_asked_for(
    researcher_client: Client, study: Study, researcher: User
) -> None:
    ann, bot = work(study, 1), work(study, 2)
    exclusion_make(study=study, by=researcher, reason="A bot", rater=bot.rater)
    asked = researcher_client.post(url(study), {"accept_all": "1"}).content.decode()
    assert "Accept 1 judgment?" in asked
    assert (
        f"Left out: 1 participant whom you excluded</strong>, with work for 0.50 USD: {bot.rater.name}."
        in asked
    )
    both = {"accept": "1", "sure": "1", "rater": [ann.rater_id, bot.rater_id]}
    researcher_client.post(url(study), both)
    assert set(Review.objects.values_list("judgment__rater", flat=True)) == {ann.rater_id}
    researcher_client.post(url(study), both | {"excluded": "1"})
    assert Review.objects.count() == 3


def test_another_labs_payments_cannot_be_touched(study: Study) -> None:
    stranger = Client()
    stranger.force_login(make_user("stranger", staff=True))
    work(study, 1)
    for sent in ({"accept_all": "1"}, {"undo": "b"}, {"paid_all": "1"}):
        assert stranger.post(url(study), sent).status_code == 404


def test_archiving_warns_of_what_people_still_wait_for(
    researcher_client: Client, study: Study, researcher: User
) -> None:
    ann = work(study, 2)
    message_send(participation=ann, kind="question", text="Why?")
    study_close(study=study)
    manage = f"/admin/annotator/study/{study.pk}/manage/"
    archive = f"/admin/annotator/study/{study.pk}/archive/"
    words = "The study still has 1 message to answer and 2 judgments to accept"
    assert words in researcher_client.get(manage).content.decode()
    reply = researcher_client.post(archive, follow=True).content.decode()
    assert f"{words}. Nothing was archived." in reply
    researcher_client.post(url(study), {"accept": "1", "sure": "1", "rater": [ann.rater_id]})
    assert "1 message to answer and 0.50 USD to pay" in researcher_client.get(manage).content.decode()
    researcher_client.post(archive, {"anyway": "1"})
    study.refresh_from_db()
    assert study.archived_at
