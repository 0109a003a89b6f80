"""The ledger under random operations, and its lines: they add up, and payments never exceed what was earned."""

from __future__ import annotations

import random
import threading
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from annotator.models import ExamAttempt, Judgment, LedgerEntry, Participation, Rater, Study
from annotator.selectors.ledger import ledger_lines
from annotator.selectors.owed import balances_of
from annotator.selectors.participation import earnings_of
from annotator.services.ledger_copy import ledger_copied
from annotator.services.payment import bonus_give, payments_record, payments_undo, work_accept
from annotator.services.study_removal import study_delete, study_purge
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db


def judged(study: Study, rater: Rater, number: int) -> None:
    """A judgment by somebody in the browser, without the pages before it."""
    Judgment.objects.create(
        study=study, item=study.items.order_by("id")[number], rater=rater, snapshot=study.snapshot, response={}, digest="d",
        source="web", seconds=30, standing="surplus",
    )  # fmt: skip


class Books:
    """A study's ledger as a few lines of Python know it, beside the one of the product."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        pay = self.rng.choice(["0.25", "0.1250", "0.3333"])
        self.study = make_study(items=12, launched=True, redundancy=3, pay_per_item=pay)
        self.pay = Decimal(pay)
        self.people = [make_participation(self.study) for _ in range(2)]
        self.done = dict.fromkeys((one.rater_id for one in self.people), 0)
        self.accepted = dict(self.done)
        self.credits = {rater: Decimal(0) for rater in self.done}
        self.payments: dict[str, tuple[int, Decimal]] = {}

    def owed(self, rater: int) -> Decimal:
        paid = sum((amount for who, amount in self.payments.values() if who == rater), Decimal(0))
        return self.accepted[rater] * self.pay + self.credits[rater] - paid

    def step(self, number: int) -> None:
        person = self.rng.choice(self.people)
        rater = person.rater_id
        what = self.rng.choice(["work", "work", "accept", "credit", "pay", "pay", "forge", "undo", "change"])
        if what == "work" and self.done[rater] < 12:
            judged(self.study, person.rater, self.done[rater])
            self.done[rater] += 1
        elif what == "accept":
            work_accept(study=self.study, by=None, raters=[rater])
            self.accepted[rater] = self.done[rater]
        elif what == "credit":
            amount = Decimal(self.rng.randint(1, 300)) / 100
            kind = self.rng.choice(["bonus", "screen_out"])
            bonus_give(study=self.study, rater=person.rater, by=None, amount=amount, reason="care", kind=kind)
            self.credits[rater] += amount
        elif what == "pay":
            self.pays(rater, f"batch {number}")
        elif what == "forge":
            self.forges(person)
        elif what == "undo" and self.payments:
            reference = self.rng.choice(list(self.payments))
            payments_undo(study=self.study, by=None, reference=reference)
            del self.payments[reference]
        elif what == "change":
            entries = LedgerEntry.objects.filter(study=self.study)
            if entries.exists():
                with pytest.raises(IntegrityError), transaction.atomic():
                    entries.update(amount=99)

    def pays(self, rater: int, reference: str) -> None:
        balance = next(one for one in balances_of(self.study) if one.rater == rater)
        if balance.payable:
            payments_record(study=self.study, by=None, reference=reference, amounts={rater: balance.payable})
            self.payments[reference] = (rater, balance.payable)
        else:
            with pytest.raises(ValidationError):
                payments_record(
                    study=self.study, by=None, reference=reference, amounts={rater: Decimal("0.01")}
                )

    def forges(self, person: Participation) -> None:
        """Whatever doesn't go through the services is refused by the database."""
        above = max(self.owed(person.rater_id), Decimal(0)) + Decimal("0.0051")
        with pytest.raises(IntegrityError, match="is owed"), transaction.atomic():
            LedgerEntry.objects.create(
                study=self.study, rater=person.rater, kind="payment", amount=above, reason="forged"
            )

    def agrees(self) -> None:
        for balance in balances_of(self.study):
            assert balance.owed == self.owed(balance.rater)
            assert balance.owed >= Decimal("-0.005"), "at most the rounding of one payment"
            lines = ledger_lines(rater_id=balance.rater).get(self.study.pk, [])
            assert sum(line.sign * line.amount for line in lines) == balance.owed
            checking = sum((line.amount for line in lines if line.kind == "checking"), Decimal(0))
            assert checking == balance.waiting
            (account,) = earnings_of(rater_id=balance.rater)
            assert account.due == balance.owed + balance.waiting


@pytest.mark.parametrize("seed", range(4))
def test_balances_hold_under_random_operations(seed: int) -> None:
    books = Books(seed)
    for number in range(30):
        books.step(number)
        if number % 5 == 4:
            books.agrees()
    books.agrees()


@pytest.mark.parametrize(
    "amount",
    ["-1", "0", "0.001", "1e30", "100000.01", "NaN", "sNaN", "Infinity", "0.0000000000000000000000001"],
)
def test_a_forged_amount_is_refused(amount: str) -> None:
    study = make_study(items=1, launched=True)
    person = make_participation(study)
    with pytest.raises(ValidationError) as refused:
        bonus_give(study=study, rater=person.rater, by=None, amount=Decimal(amount), reason="x")
    assert "amount" in refused.value.message_dict
    with pytest.raises(ValidationError, match="is owed"):
        payments_record(study=study, by=None, reference="r", amounts={person.rater_id: Decimal(amount)})
    assert not LedgerEntry.objects.exists()


def test_a_credit_that_was_paid_cannot_be_undone_and_entries_go_with_their_study() -> None:
    study = make_study(items=1, launched=True)
    person = make_participation(study)
    ExamAttempt.objects.filter(participation=person).delete()
    bonus = bonus_give(study=study, rater=person.rater, by=None, amount=Decimal(2), reason="x")
    payments_record(study=study, by=None, reference="r", amounts={person.rater_id: Decimal("2.00")})
    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerEntry.objects.filter(pk=bonus.pk).update(undone_at=study.created_at)
    payments_undo(study=study, by=None, reference="r")
    LedgerEntry.objects.filter(pk=bonus.pk).update(undone_at=study.created_at)
    assert balances_of(study)[0].owed == 0
    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerEntry.objects.filter(pk=bonus.pk).update(undone_at=None)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        LedgerEntry.objects.all().delete()
    Study.objects.filter(pk=study.pk).update(state="closed")
    study_delete(study=study, by=None, typed=study.slug)
    assert study_purge(study_pk=study.pk)
    assert not LedgerEntry.objects.exists()


def test_lines_take_one_query() -> None:
    study = make_study(items=3, launched=True, pay_per_item="0.25")
    person = make_participation(study)
    for number in range(3):
        judged(study, person.rater, number)
    work_accept(study=study, by=None)
    bonus_give(study=study, rater=person.rater, by=None, amount=Decimal(1), reason="careful notes")
    with CaptureQueriesContext(connection) as seen:
        lines = ledger_lines(rater_id=person.rater_id)[study.pk]
    assert len(seen) == 1
    assert {(line.kind, line.number, line.amount, line.reason) for line in lines} == {
        ("items", 3, Decimal("0.75"), ""), ("bonus", 1, Decimal(1), "careful notes"),
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_two_payments_of_the_same_money_at_once_are_one() -> None:
    study = make_study(items=1, launched=True)
    person = make_participation(study)
    bonus_give(study=study, rater=person.rater, by=None, amount=Decimal(1), reason="x")
    gate, paid = threading.Barrier(4), list[bool]()

    def pay(number: int) -> None:
        try:
            gate.wait(timeout=60)
            LedgerEntry.objects.create(
                study=study,
                rater_id=person.rater_id,
                kind="payment",
                amount=1,
                reason="x",
                reference=str(number),
            )
            paid.append(True)
        except IntegrityError:
            paid.append(False)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=pay, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert sorted(paid) == [False, False, False, True]


def test_a_copy_of_a_ledger_comes_before_what_it_was_earned_by() -> None:
    """As in a backup that is restored, or a release that is imported."""
    study = make_study(items=1, launched=True)
    person = make_participation(study)
    row = {"study": study, "rater": person.rater, "kind": "payment", "amount": 1, "reason": "x"}
    with ledger_copied():
        LedgerEntry.objects.create(**row)
    with pytest.raises(IntegrityError, match="is owed"), transaction.atomic():
        LedgerEntry.objects.create(**row)
