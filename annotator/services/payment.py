"""Accept work in bulk, and record bonuses and payments. ``selectors.owed`` computes what is owed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.csv_cells import cell_neutral
from annotator.core.ranges import InRange
from annotator.models import AuditAction, Judgment, LedgerEntry, Rater, Study, User
from annotator.recruitment.panel import Panel
from annotator.selectors.owed import CENT, Balance, balances_of, excluded_raters
from annotator.services.audit import audit_write, audit_write_each
from annotator.services.review import judgments_accept

BONUS = InRange(CENT, 100_000)
#: What researchers give by hand.
GIVEN = (LedgerEntry.Kind.BONUS, LedgerEntry.Kind.SCREEN_OUT)
HEADER = (
    "participant", "recruiter", "recruiter_id", "state", "judgments", "accepted", "currency", "items", "exam",
    "bonus", "paid", "owed",
)  # fmt: skip


def work_accept(
    *, study: Study, by: User | None, raters: Sequence[int] | None = None, excluded: bool = False
) -> int:
    """Accept what participants (or these ``raters``) have submitted; returns how many judgments.

    The work of people who are excluded from the study's statistics is left out, unless it's asked for (``excluded``).
    """
    waiting = Judgment.objects.filter(study=study, source=Judgment.Source.WEB)
    if raters is not None:
        waiting = waiting.filter(rater__in=raters)
    if not excluded:
        waiting = waiting.exclude(rater__in=excluded_raters(study))
    return judgments_accept(judgments=waiting, by=by)


@transaction.atomic
def payments_record(
    *, study: Study, by: User | None, reference: str, amounts: Mapping[int, Decimal]
) -> list[LedgerEntry]:
    """Record that participants were paid; ``amounts`` maps a rater to the amount sent, in the study's currency.

    ``reference`` names the transfer or batch and is used once for each participant. Raises ``ValidationError`` if an
    amount isn't what is owed now: somebody else may just have recorded the payment.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    reference = reference.strip()
    if not reference:
        raise ValidationError(
            {"reference": "Give the reference of the payment, such as a batch or transfer number."}
        )
    if len(reference) > (longest := LedgerEntry._meta.get_field("reference").max_length or 0):
        raise ValidationError({"reference": f"Use at most {longest} characters."})
    if not amounts:
        raise ValidationError("Select at least one participant.")
    known = {one.rater: one for one in balances_of(study, raters=list(amounts))}
    taken = study.ledger.filter(
        kind=LedgerEntry.Kind.PAYMENT, reference=reference, rater__in=list(amounts), undone_at__isnull=True
    )
    if name := taken.values_list("rater__name", flat=True).first():
        raise ValidationError(
            {"reference": f"{name} was already paid under this reference. Use another one."}
        )
    entries = []
    for rater, amount in amounts.items():
        balance = known.get(rater)
        if balance is None:
            raise ValidationError("A selected rater does not take part in this study.")
        if not amount.is_finite() or amount <= 0 or amount != balance.payable:
            raise ValidationError(
                f"{balance.name} is owed {balance.payable} {study.currency}, not {amount}. Nothing was recorded."
                " Check the list again: a payment may have been recorded since."
            )
        entries.append(
            LedgerEntry(
                study=study, rater_id=rater, kind=LedgerEntry.Kind.PAYMENT, amount=amount, reason="payment",
                reference=reference, created_by=by,
            )
        )  # fmt: skip
    after = {
        rater: {"amount": amount, "currency": study.currency, "reference": reference}
        for rater, amount in amounts.items()
    }
    audit_write_each(action=AuditAction.PAYMENT_RECORDED, study=study, by=by, after=after)
    return LedgerEntry.objects.bulk_create(entries)


@transaction.atomic
def payments_undo(*, study: Study, by: User | None, reference: str) -> int:
    """Take back that participants were paid under this reference: they are owed the amounts again. Returns how many
    records there were. The entries stay in the ledger as undone, and the audit log keeps each amount. Raises ``ValidationError`` if
    there is none, or if a batch has sent them through the panel.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    recorded = study.ledger.filter(kind=LedgerEntry.Kind.PAYMENT, reference=reference, undone_at__isnull=True)
    if recorded.filter(pay_line__isnull=False).exists():
        raise ValidationError(
            "These payments are sent through the panel, so their record can't be undone here. Cancel what the batch hasn't sent yet."
        )
    amounts = dict(recorded.values_list("rater", "amount"))
    if not amounts:
        raise ValidationError("No payment is recorded under this reference.")
    before = {
        rater: {"amount": amount, "currency": study.currency, "reference": reference}
        for rater, amount in amounts.items()
    }
    audit_write_each(action=AuditAction.PAYMENT_UNDONE, study=study, by=by, after=before)
    recorded.update(undone_at=timezone.now(), undone_by=by)
    return len(amounts)


@transaction.atomic
def bonus_give(
    *,
    study: Study,
    rater: Rater,
    by: User | None,
    amount: Decimal,
    reason: str,
    kind: str = LedgerEntry.Kind.BONUS,
) -> LedgerEntry:
    """Give a participant a bonus, or pay them for being screened out (``kind``), with a reason that they can read.

    ``amount`` is in the study's currency, in whole cents, from 0.01 to 100,000. Raises ``ValidationError``.
    """
    if kind not in GIVEN:
        raise ValidationError({"kind": f"Expected {' or '.join(GIVEN)}."})
    if not isinstance(amount, Decimal) or not amount.is_finite() or not BONUS.holds(amount):
        raise ValidationError({"amount": BONUS.message})
    if amount != amount.quantize(CENT):
        raise ValidationError({"amount": "Give an amount in whole cents."})
    if not reason.strip():
        raise ValidationError({"reason": "Give a reason. The participant can read it."})
    if not study.participations.filter(rater=rater, rater__rehearsal=False).exists():
        raise ValidationError("This rater does not take part in this study.")
    about = {"amount": amount, "currency": study.currency, "reason": reason.strip()}
    about |= {} if kind == LedgerEntry.Kind.BONUS else {"kind": kind}
    audit_write(action=AuditAction.BONUS_GIVEN, study=study, by=by, rater=rater, after=about)
    return LedgerEntry.objects.create(
        study=study,
        rater=rater,
        kind=kind,
        amount=amount,
        reason=reason.strip(),
        created_by=by,
    )


def owed_export(*, study: Study, by: User, balances: Iterable[Balance]) -> str:
    """What each participant is owed, as CSV; cells that a spreadsheet would run as a formula are made safe."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(HEADER)
    for balance in balances:
        row = (
            balance.name, balance.recruiter, balance.recruiter_id, balance.state, balance.done, balance.accepted, study.currency,
            balance.items.quantize(CENT), balance.exam, balance.bonus.quantize(CENT), balance.paid.quantize(CENT), balance.payable,
        )  # fmt: skip
        writer.writerow([cell_neutral(cell) for cell in row])
    audit_write(action=AuditAction.EXPORTED, study=study, by=by, target="what is owed")
    return out.getvalue()


def panel_payments_export(*, study: Study, by: User, panel: Panel, balances: Iterable[Balance]) -> str:
    """What can be paid now to each participant from a panel, as the file that it takes for payments in bulk."""
    owed = [
        (balance.recruiter_id, balance.payable)
        for balance in balances
        if balance.recruiter == panel.name and balance.payable > 0
    ]
    audit_write(action=AuditAction.EXPORTED, study=study, by=by, target=f"bonus payments for {panel.title}")
    return panel.payments_file(owed)
