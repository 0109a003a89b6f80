"""Payments through the panel: continued after any failure, and nobody is paid twice."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotator.models import (
    AuditEntry,
    LedgerEntry,
    PanelStudy,
    Participation,
    PayBatch,
    ReviewDecision,
    Study,
    User,
)
from annotator.recruitment.panels._prolific_api import ProlificApi
from annotator.selectors.owed import balances_of, totals_of
from annotator.selectors.pay_batch import pay_batches, pay_proposal
from annotator.services.erasure import erase
from annotator.services.panel_reconcile import panel_reconcile
from annotator.services.pay_batch import (
    pay_batch_cancel,
    pay_batch_make,
    pay_batch_send,
    pay_batch_settle,
)
from annotator.services.payment import payments_record, payments_undo
from tests.annotator.services.panel_people import arrives, connected_study, published
from tests.annotator.services.pay_world import ALL, PAY, World
from tests.prolific_api import ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


@pytest.fixture
def world(books: ProlificBooks, researcher: User) -> World:
    return World(books, researcher)


def test_rewards_are_approved_and_the_rest_is_paid_as_a_bonus(world: World) -> None:
    proposal = pay_proposal(world.study)
    assert (proposal.fault, proposal.left_out, proposal.currency) == ("", (), "GBP")
    assert [(one.kind, one.amount, one.credit) for one in proposal.payments] == [
        ("approve", Decimal("1.00"), 0), ("approve", Decimal("1.00"), 0),
        ("bonus", Decimal("0.25"), 0), ("bonus", Decimal("0.50"), 0),
    ]  # fmt: skip
    batch = pay_batch_send(batch=world.make())
    assert batch.finished_at
    references = set(
        LedgerEntry.objects.filter(pay_line__part__batch=batch).values_list("reference", flat=True)
    )
    assert references == {f"prolific batch {batch.key}: approvals", f"prolific batch {batch.key}: bonuses"}, (
        "they name this batch on another installation too"
    )
    assert world.got() == ALL
    world.agrees()
    assert totals_of(balances_of(world.study)).payable == 0
    assert [part.cost for part in batch.parts.all()] == [None, Decimal("1.05")], (
        "bonuses with Prolific's fees"
    )
    assert AuditEntry.objects.filter(action="payments.recorded", actor=world.by).count() == 4


def test_a_key_makes_one_batch_however_often_it_is_sent(world: World) -> None:
    digest = pay_proposal(world.study).digest
    first = world.make()
    again = pay_batch_make(study=world.study, key="key-00001", digest=digest, by=world.by)
    assert again == first
    pay_batch_send(batch=first)
    pay_batch_send(batch=again)
    assert world.got() == ALL
    with pytest.raises(ValidationError, match="belongs to another batch"):
        world.make()
    with pytest.raises(ValidationError, match="Nobody can be paid"):
        world.make("key-00002")


def test_two_researchers_at_once_make_one_batch(world: World) -> None:
    digest = pay_proposal(world.study).digest
    world.make()
    with pytest.raises(ValidationError, match="Another batch isn't finished"):
        pay_batch_make(study=world.study, key="key-00002", digest=digest, by=None)
    amounts = {world.people["cleo"].rater_id: Decimal("0.50")}
    with pytest.raises(ValidationError, match=r"is owed 0(\.00)? GBP"):
        payments_record(study=world.study, by=None, reference="by hand", amounts=amounts)
    for reference in LedgerEntry.objects.filter(kind="payment").values_list("reference", flat=True):
        with pytest.raises(ValidationError, match="can't be undone here"):
            payments_undo(study=world.study, by=None, reference=reference)


def test_what_was_confirmed_is_what_is_paid(world: World) -> None:
    digest = pay_proposal(world.study).digest
    world.bonus("ben", "5.00")
    with pytest.raises(ValidationError, match="has changed since"):
        pay_batch_make(study=world.study, key="key-00001", digest=digest, by=None)
    assert not PayBatch.objects.exists()


@pytest.mark.parametrize("request_of", ["bulk-approve", "bonus-payments"])
@pytest.mark.parametrize("what", ["500 after", "lost", "429"])
def test_a_failed_request_is_sent_again_where_that_pays_nobody_twice(
    world: World, monkeypatch: pytest.MonkeyPatch, request_of: str, what: str
) -> None:
    monkeypatch.setattr("annotator.recruitment.requests.ATTEMPTS", 1)
    world.books.troubles = [(request_of, what)]
    batch = world.make()
    with pytest.raises(ValidationError):
        pay_batch_send(batch=batch)
    batch.refresh_from_db()
    assert batch.fault
    assert pay_batch_send(batch=batch).fault == ""
    assert world.got() == ALL
    world.agrees()


def test_a_lost_reply_of_the_request_that_pays_is_found_at_the_panel(world: World) -> None:
    world.books.troubles = [(PAY, "lost")]
    batch = world.make()
    with pytest.raises(ValidationError, match="may have been carried out"):
        pay_batch_send(batch=batch)
    assert pay_batch_send(batch=batch).finished_at
    assert world.got() == ALL
    world.agrees()


def test_a_payment_in_doubt_waits_for_a_researcher(world: World) -> None:
    world.books.troubles = [(PAY, "500")]  # it wasn't carried out, but nobody here can know
    batch = world.make()
    with pytest.raises(ValidationError, match="may have been carried out"):
        pay_batch_send(batch=batch)
    for _ in range(2):
        with pytest.raises(ValidationError, match="its reply was lost"):
            pay_batch_send(batch=batch)
    with pytest.raises(ValidationError, match="may have been paid"):
        pay_batch_cancel(batch=batch, by=world.by)
    assert not world.books.bonuses
    pay_batch_settle(batch=batch, paid=False, by=world.by)
    pay_batch_send(batch=batch)
    assert world.got() == ALL
    assert AuditEntry.objects.get(action="payments.settled").after == {"paid": False}
    with pytest.raises(ValidationError, match="No part"):
        pay_batch_settle(batch=batch, paid=True, by=world.by)


def test_whoever_is_wrong_about_a_payment_in_doubt_pays_nobody_twice(world: World) -> None:
    world.books.troubles = [(PAY, "500 after")]
    batch = world.make()
    with pytest.raises(ValidationError):
        pay_batch_send(batch=batch)
    assert pay_batch_settle(batch=batch, paid=False, by=world.by).finished_at, "the panel shows the payment"
    assert world.got() == ALL


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("method", ["submissions_approve", "bonuses_set_up", "bonuses_pay"])
def test_a_batch_whose_process_was_killed_is_continued(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, before: bool
) -> None:
    real = getattr(ProlificApi, method)

    def killed(self: ProlificApi, *args: Any) -> None:
        if not before:
            real(self, *args)
        raise Killed

    batch = world.make()
    with monkeypatch.context() as patch:
        patch.setattr(ProlificApi, method, killed)
        with pytest.raises(Killed):
            pay_batch_send(batch=batch)
    try:
        pay_batch_send(batch=batch)
    except ValidationError:  # unknown whether it was paid: it wasn't
        assert (method, before) == ("bonuses_pay", True)
        pay_batch_settle(batch=batch, paid=False, by=world.by)
        pay_batch_send(batch=batch)
    assert world.got() == ALL
    world.agrees()


def test_the_panel_may_be_down_in_the_middle(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotator.recruitment.requests.ATTEMPTS", 1)
    world.books.troubles = [("GET /api/v1/submissions/0", "500")]  # before the bonuses are paid
    batch = world.make()
    with pytest.raises(ValidationError, match="problem of its own"):
        pay_batch_send(batch=batch)
    assert world.got() == {"ann": Decimal("1.00"), "ben": Decimal("1.00"), "cleo": Decimal(0)}
    pay_batch_send(batch=batch)
    assert world.got() == ALL


def test_what_was_not_sent_can_be_cancelled_and_is_owed_again(world: World) -> None:
    batch = world.make()
    assert pay_batch_cancel(batch=batch, by=world.by) == 4
    assert totals_of(balances_of(world.study)).payable == Decimal("2.75")
    pay_batch_send(batch=world.make("key-00002"))
    assert world.got() == ALL


def test_who_was_rejected_meanwhile_is_not_paid(world: World) -> None:
    batch = world.make()
    world.books.move(world.people["ben"].recruiter_session, "REJECTED")
    pay_batch_send(batch=batch)
    assert world.got() == ALL | {"ben": Decimal(0)}
    world.agrees()
    assert AuditEntry.objects.filter(action="payments.undone").count() == 1, "the trail says what wasn't sent"
    panel_reconcile(row=PanelStudy.objects.get(pk=world.row.pk))
    proposal = pay_proposal(world.study)
    assert proposal.payments == (), "nor by the next batch, as a bonus"
    assert [one.why for one in proposal.left_out] == ["rejected on the panel"]
    [part, _] = pay_batches(world.study)[0].parts.all()
    assert (part.people, part.amount) == (1, Decimal("1.00")), "what was sent is shown"  # type: ignore[attr-defined]


def test_who_is_about_to_be_rejected_is_left_out(world: World) -> None:
    ReviewDecision.objects.create(
        study=world.study, participation=world.people["ben"], kind="reject", text="x", category="FAILED_CHECK",
        batch=uuid4(), due_at=timezone.now(),
    )  # fmt: skip
    proposal = pay_proposal(world.study)
    assert {one.name: one.why for one in proposal.left_out} == {
        world.people["ben"].rater.name: "a decision of the review desk is about to be carried out"
    }
    assert world.people["ben"].rater_id not in {one.rater for one in proposal.payments}


def test_a_bonus_of_an_earlier_batch_is_not_taken_for_a_reward(world: World) -> None:
    """Somebody who returned their submission got what they earned as a bonus; a later submission of theirs is approved."""
    world.bonus("cleo", "0.50")
    pay_batch_send(batch=world.make())
    cleo = world.people["cleo"]
    world.bonus("cleo", "1.00")
    world.books.move(cleo.recruiter_session, "APPROVED")
    panel_reconcile(row=PanelStudy.objects.get(pk=world.row.pk))
    assert [(one.rater, one.kind, one.amount) for one in pay_proposal(world.study).payments] == [
        (cleo.rater_id, "approve", Decimal("1.00"))
    ]


def test_a_payment_in_doubt_is_not_judged_by_somebody_else(world: World) -> None:
    world.books.troubles = [("/pay/", "500 after")]
    batch = world.make()
    with pytest.raises(ValidationError):
        pay_batch_send(batch=batch)
    assert world.got() == ALL
    erase(study=world.study, rater=world.people["ann"].rater, policy="anonymise")
    with pytest.raises(ValidationError, match="was removed"):
        pay_batch_send(batch=batch)
    pay_batch_settle(batch=batch, paid=True, by=world.by)
    assert world.got() == ALL


def test_a_fixed_reward_above_what_was_earned_is_credited(books: ProlificBooks, researcher: User) -> None:
    """People whom the panel has approved or screened out by itself have got its reward: the ledger says so too."""
    study, connection = connected_study(researcher, screened_out_code="EXAM", exam_required=True)
    row = published(
        study, connection, places=4, reward=Decimal("1.00"), action_screened_out_code="screen_out",
        screen_out_reward=Decimal("0.30"), slots=5,
    )  # fmt: skip
    people = {}
    for person, status in (("ann", "APPROVED"), ("ben", "SCREENED OUT"), ("cleo", "AWAITING REVIEW")):
        submission, people[person] = arrives(books, row, person)
        books.move(submission, status)
    panel_reconcile(row=PanelStudy.objects.get(pk=row.pk))
    submission, people["dan"] = arrives(books, row, "dan")  # told before screen-outs were booked at once
    books.move(submission, "SCREENED OUT")
    Participation.objects.filter(pk=people["dan"].pk).update(panel_status="SCREENED OUT")
    proposal = pay_proposal(study)
    assert [(one.kind, one.amount, one.credit) for one in proposal.payments] == [
        ("approve", Decimal("1.00"), Decimal("1.00")), ("screen_out", Decimal("0.30"), Decimal("0.30")),
    ]  # fmt: skip
    assert {one.recruiter_id: one.paid for one in balances_of(study)}["ben"] == Decimal("0.30"), "told"
    [left] = proposal.left_out
    assert "less than the reward of 1.00" in left.why, "nobody is approved who hasn't earned it"
    pay_batch_send(batch=pay_batch_make(study=study, key="key-00001", digest=proposal.digest, by=None))
    assert {one.recruiter_id: one.paid for one in balances_of(study)} == {
        person: books.paid(person) for person in people
    }
    assert set(LedgerEntry.objects.exclude(kind="payment").values_list("kind", flat=True)) == {
        "reward",
        "screen_out",
    }
    assert pay_proposal(study).payments == (), "a fixed reward is recorded once"


def test_another_currency_and_a_missing_connection_are_refused(world: World) -> None:
    Study.objects.filter(pk=world.study.pk).update(currency="USD")
    world.study.refresh_from_db()
    with pytest.raises(ValidationError, match=r"pays in USD and the panel's account in GBP"):
        world.make()
    assert world.study.workspace is not None
    world.study.workspace.panel_connections.all().delete()
    with pytest.raises(ValidationError, match="isn't connected"):
        world.make()


@pytest.mark.parametrize("key", ["", "short", "x" * 65, "ключ-00001", "a\nb-000001"])
def test_a_key_that_is_none_is_refused(world: World, key: str) -> None:
    with pytest.raises(ValidationError, match="8 to 64"):
        world.make(key)


def test_the_database_holds_one_open_batch_and_the_rules_of_the_ledger(world: World) -> None:
    batch = world.make()
    for change in (
        lambda: PayBatch.objects.create(study=world.study, key="key-00002", currency="GBP"),
        lambda: LedgerEntry.objects.filter(pay_line__part__batch=batch).update(amount=9),
        lambda: LedgerEntry.objects.filter(kind="bonus").delete(),
        lambda: LedgerEntry.objects.create(
            study=world.study, rater=world.people["ben"].rater, kind="payment", amount="0.01", reason="forged"
        ),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


def test_what_was_recorded_by_hand_is_not_recorded_again(world: World) -> None:
    ben = world.people["ben"]
    world.books.move(ben.recruiter_session, "APPROVED")
    panel_reconcile(row=PanelStudy.objects.get(pk=world.row.pk))
    payments_record(
        study=world.study, by=None, reference="on Prolific", amounts={ben.rater_id: Decimal("1.00")}
    )
    assert ben.rater_id not in {one.rater for one in pay_proposal(world.study).payments}
    pay_batch_send(batch=world.make())
    assert world.got() == ALL
    world.agrees()
