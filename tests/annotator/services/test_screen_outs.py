"""Screen-outs are booked when the panel tells of them, once, whatever order its webhooks come in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from annotator.models import AuditEntry, LedgerEntry, Study, User
from annotator.recruitment.webhooks import SUBMISSION_CHANGED, Webhook
from annotator.selectors.ledger import ledger_lines
from annotator.selectors.owed import balances_of
from annotator.selectors.pay_batch import pay_proposal
from annotator.services.panel_events import panel_event_receive
from annotator.services.payment import bonus_give
from tests.annotator.services.panel_people import arrives, connected_study, published
from tests.prolific_api import ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


def tells(study: Study, submission: str, status: str, at: datetime, event: str = "") -> str:
    """What became of a webhook; empty for one that was known."""
    name = event or f"{status} {at}"
    row = panel_event_receive(
        study=study,
        event=Webhook(name, f"signature of {name}", SUBMISSION_CHANGED, submission, "", status, at),
    )
    return row.outcome if row else ""


def entries(study: Study) -> list[tuple[str, Decimal]]:
    rows = LedgerEntry.objects.filter(study=study, undone_at=None).order_by("id")
    return [(one.kind, one.amount.quantize(Decimal("0.01"))) for one in rows]


def test_a_screen_out_is_booked_once_when_the_panel_tells(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher, screened_out_code="EXAM", exam_required=True)
    row = published(
        study, connection, action_screened_out_code="screen_out", screen_out_reward=Decimal("0.30"), slots=5
    )
    submission, person = arrives(books, row, "ann")
    study.refresh_from_db()
    bonus_give(study=study, rater=person.rater, by=researcher, amount=Decimal("0.10"), reason="care")
    booked = [("bonus", Decimal("0.10")), ("screen_out", Decimal("0.20")), ("payment", Decimal("0.30"))]
    minute = timedelta(minutes=1)
    assert tells(study, submission, "SCREENED OUT", NOW) == "applied"
    assert entries(study) == booked
    for status, at, event in (
        ("SCREENED OUT", NOW, ""),  # the same once more
        ("SCREENED OUT", NOW, "a copy"),  # under another id
        ("ACTIVE", NOW - minute, ""),  # late
        ("SCREENED OUT", NOW + minute, "later"),
    ):
        tells(study, submission, status, at, event)
        assert entries(study) == booked, (status, event)
    [balance] = balances_of(study)
    assert (balance.owed, balance.paid) == (0, Decimal("0.30"))
    assert pay_proposal(study).payments == (), "no batch records it again"
    assert AuditEntry.objects.filter(action="payments.recorded", study_id=study.pk).count() == 1
    assert [line.kind for line in ledger_lines(rater_id=person.rater_id)[study.pk]][-1] == "payment"

    # The researchers change it at the panel: the person isn't screened out after all, and then is.
    assert tells(study, submission, "AWAITING REVIEW", NOW + 2 * minute) == "applied"
    assert entries(study) == booked[:1]
    assert tells(study, submission, "SCREENED OUT", NOW + 3 * minute) == "applied"
    assert entries(study) == booked


def test_without_a_known_reward_nothing_is_booked(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection)
    submission, _ = arrives(books, row, "ann")
    study.refresh_from_db()
    assert tells(study, submission, "SCREENED OUT", NOW) == "applied"
    assert entries(study) == []
