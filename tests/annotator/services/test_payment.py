"""Amounts owed add up, in total and for each participant, and are paid once."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from annotator.models import AuditEntry, LedgerEntry, Participation, Study
from annotator.recruitment.registry import PANELS
from annotator.selectors.owed import balances_of, totals_of
from annotator.selectors.participation import earnings_of
from annotator.services.assignment import assignment_next
from annotator.services.payment import (
    bonus_give,
    owed_export,
    panel_payments_export,
    payments_record,
    work_accept,
)
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_update
from annotator.services.submit_and_next import turn_take
from tests.factories import make_judgment, make_participation, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db
PROLIFIC = PANELS.get("prolific")


@pytest.fixture
def study() -> Study:
    return make_study(items=4, launched=True, redundancy=3, pay_per_item="0.25")


def work(study: Study, turns: int, who: Participation | None = None) -> Participation:
    person = who or make_participation(study)
    for _ in range(turns):
        task = assignment_next(participation=person)
        assert task is not None
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    return person


def test_accepted_judgments_are_owed_at_the_rate_of_their_version(study: Study) -> None:
    ann = work(study, 2)
    (before,) = balances_of(study)
    assert (before.owed, before.waiting, before.unreviewed) == (0, Decimal("0.50"), 2)
    assert work_accept(study=study, by=None) == 2
    study_update(study=study, pay_per_item="1.00")
    study.refresh_from_db()
    ann.study.refresh_from_db()
    work(study, 2, ann)  # the first of these was in hand before the raise, and is paid as it was offered
    (now,) = balances_of(study)
    assert (now.owed, now.waiting) == (Decimal("0.50"), Decimal("1.25"))
    assert work_accept(study=study, by=None, raters=[ann.rater_id]) == 2
    assert work_accept(study=study, by=None) == 0, "accepting again changes nothing"
    assert balances_of(study)[0].owed == Decimal("1.75")


def test_rehearsals_and_imports_are_never_owed_anything(study: Study) -> None:
    work(study, 1)
    rehearse(study=study, raters=rehearsal_raters(study=study, count=3, accuracy=1, spread=0, seed=1), seed=1)
    make_judgment(study.items.get(key="item-0"), make_rater("elsewhere"))
    assert work_accept(study=study, by=None) == 1
    balances = balances_of(study)
    assert [one.owed for one in balances] == [Decimal("0.25")]


def test_a_payment_is_recorded_once_and_the_ledger_adds_up(study: Study) -> None:
    ann, ben = work(study, 3), work(study, 2)
    work_accept(study=study, by=None)
    bonus_give(study=study, rater=ben.rater, by=None, amount=Decimal("2.00"), reason="careful notes")
    owed = {one.rater: one.payable for one in balances_of(study)}
    assert owed == {ann.rater_id: Decimal("0.75"), ben.rater_id: Decimal("2.50")}
    payments_record(study=study, by=None, reference="batch 1", amounts=owed)
    with pytest.raises(ValidationError, match="already paid under this reference"):
        payments_record(study=study, by=None, reference="batch 1", amounts=owed)
    with pytest.raises(ValidationError, match=r"is owed 0(\.00)? USD, not 0.75"):
        payments_record(study=study, by=None, reference="batch 2", amounts=owed)
    totals = totals_of(balances_of(study))
    assert (totals.paid, totals.owed, totals.payable) == (Decimal("3.25"), 0, 0)
    assert totals.paid == sum(entry.amount for entry in LedgerEntry.objects.filter(kind="payment"))
    (account,) = earnings_of(rater_id=ben.rater_id)
    assert (account.due, account.paid) == (0, Decimal("2.50")), "the participant reads the same"


def test_the_database_allows_each_payment_reference_once(study: Study) -> None:
    ann = work(study, 2)
    work_accept(study=study, by=None)
    row = {"study": study, "rater": ann.rater, "kind": "payment", "amount": "0.25", "reference": "batch 1"}
    LedgerEntry.objects.create(**row)
    with pytest.raises(IntegrityError, match="once_per_reference"), transaction.atomic():
        LedgerEntry.objects.create(**row)


def test_a_fraction_of_a_cent_remains_owed() -> None:
    study = make_study(items=4, launched=True, redundancy=1, pay_per_item="0.1250")
    ann = work(study, 1)
    work_accept(study=study, by=None)
    (one,) = balances_of(study)
    assert one.payable == Decimal("0.13")
    payments_record(study=study, by=None, reference="a", amounts={ann.rater_id: one.payable})
    work(study, 1, ann)
    work_accept(study=study, by=None)
    (one,) = balances_of(study)
    assert (one.owed, one.payable) == (Decimal("0.1200"), Decimal("0.12"))


@pytest.mark.parametrize(
    ("reference", "amount", "message"),
    [("", "0.25", "reference"), ("b", "0.20", "is owed 0.25 USD, not 0.20"), ("b", "-1", "is owed 0.25")],
)
def test_a_payment_of_another_amount_than_owed_is_refused(
    study: Study, reference: str, amount: str, message: str
) -> None:
    ann = work(study, 1)
    work_accept(study=study, by=None)
    with pytest.raises(ValidationError, match=message):
        payments_record(study=study, by=None, reference=reference, amounts={ann.rater_id: Decimal(amount)})
    assert not LedgerEntry.objects.exists()


def test_the_export_of_amounts_owed_neutralises_formulas(study: Study) -> None:
    ann = work(study, 2)
    Participation.objects.filter(pk=ann.pk).update(recruiter="prolific", recruiter_id="=1+1")
    work_accept(study=study, by=None)
    (row,) = csv.DictReader(
        io.StringIO(owed_export(study=study, by=ann.rater.user, balances=balances_of(study)))
    )
    assert (row["participant"], row["recruiter_id"], row["owed"]) == (ann.rater.name, "'=1+1", "0.50")


def test_balances_take_one_query(study: Study) -> None:
    work(study, 1)
    work(study, 2)
    with CaptureQueriesContext(connection) as seen:
        assert len(balances_of(study)) == 2
    assert len(seen) == 1


def test_the_list_for_prolific_has_those_who_can_be_paid_now(study: Study) -> None:
    people = [work(study, turns) for turns in (3, 1, 2)]
    for number, one in enumerate(people[:2]):
        Participation.objects.filter(pk=one.pk).update(
            recruiter="prolific", recruiter_id=f"60ffe5c837{number}"
        )
    unpaid = work(study, 1)
    Participation.objects.filter(pk=unpaid.pk).update(recruiter="prolific", recruiter_id="60ffe5c8379")
    work_accept(study=study, by=None, raters=[one.rater_id for one in people])
    by = make_user(staff=True)
    text = panel_payments_export(study=study, by=by, panel=PROLIFIC, balances=balances_of(study))
    assert set(text.splitlines()) == {"60ffe5c8370,0.75", "60ffe5c8371,0.25"}, (
        "neither others nor unreviewed work"
    )
    payments_record(study=study, by=by, reference="1", amounts={people[0].rater_id: Decimal("0.75")})
    assert (
        panel_payments_export(study=study, by=by, panel=PROLIFIC, balances=balances_of(study))
        == "60ffe5c8371,0.25\n"
    )
    assert (
        AuditEntry.objects.filter(action="people.exported", target="bonus payments for Prolific").count() == 2
    )
