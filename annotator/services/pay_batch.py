"""Pay participants through their panel: make a batch, send it, continue it after a failure, and settle what nobody knows.

Nobody is paid twice. The payments are in the ledger before anything is sent, so that the database refuses any other payment of the same
money. Approving a submission again changes nothing at the panel. A request that pays bonuses is announced in the database before it's sent:
if its reply is lost, it's only ever taken as paid when the panel shows the payment, and only sent again when a researcher says that it wasn't.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotator.core.jobs import lock_held
from annotator.models import (
    AuditAction,
    LedgerEntry,
    PanelConnection,
    Participation,
    PayBatch,
    PayLine,
    PayPart,
    Study,
    User,
)
from annotator.recruitment.api import PanelApi, PanelApiError
from annotator.selectors.panel_connection import connection_of
from annotator.selectors.pay_batch import APPROVE, BONUS, SCREENED, Payment, pay_proposal
from annotator.services.audit import audit_write, audit_write_each
from annotator.services.panel_study import panel_errors

log = logging.getLogger(__name__)

State = PayPart.State
#: A batch that a failure has interrupted is continued by itself after half as long as it has waited already, or as the panel hasn't shown
#: a payment, within these bounds, and no more after the last.
SHORTEST_RETRY, LONGEST_RETRY, LAST_RETRY = timedelta(seconds=15), timedelta(hours=1), timedelta(days=2)
#: The code of the error that a payment isn't shown by the panel yet.
UNSEEN = "unseen"
_BUSY = "The batch is being sent by somebody else. Reload the page in a moment."


@transaction.atomic
def pay_batch_make(*, study: Study, key: str, digest: str, by: User | None) -> PayBatch:
    """Make the batch that was proposed, or return the one that was made with this ``key``. Sends nothing.

    ``digest`` is that of the proposal that the researcher has seen: if what is owed has changed since, nothing is made. Raises
    ``ValidationError``.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    key = key.strip()
    if not 8 <= len(key) <= 64 or not key.isascii() or not key.isprintable():
        raise ValidationError({"key": "Expected 8 to 64 letters, digits or signs, new for each batch."})
    made = study.pay_batches.filter(key=key).first()
    if made is not None:
        if made.digest != digest:
            raise ValidationError(
                {"key": "This key belongs to another batch. Use a new one for a new batch."}
            )
        return made
    if study.pay_batches.filter(finished_at__isnull=True).exists():
        raise ValidationError("Another batch isn't finished. Continue or cancel it first.")
    connection = _connection(study)
    proposal = pay_proposal(study)
    if proposal.fault:
        raise ValidationError(proposal.fault)
    if proposal.digest != digest:
        raise ValidationError(
            "What is owed has changed since you saw the list. Nothing was sent; check it again."
        )
    if not proposal.payments:
        raise ValidationError("Nobody can be paid through the panel now.")
    batch = PayBatch.objects.create(
        study=study, panel=study.panel, key=key, digest=digest, currency=study.currency, created_by=by,
        retry_at=timezone.now() + SHORTEST_RETRY,  # should this process be killed before it has sent everything
    )  # fmt: skip
    with panel_errors(connection) as api:
        _parts_make(batch, proposal.payments, api, by)
    for kind in (APPROVE, SCREENED, BONUS):
        about = {"currency": study.currency, "reference": _reference(batch, kind)}
        after = {
            payment.rater: about | {"amount": payment.amount}
            for payment in proposal.payments
            if payment.kind == kind
        }
        audit_write_each(action=AuditAction.PAYMENT_RECORDED, study=study, by=by, after=after)
    return batch


def pay_batch_send(*, batch: PayBatch) -> PayBatch:
    """Send what the batch hasn't sent yet, in order, and finish it. It can be called again after any failure.

    Raises ``ValidationError`` with what went wrong, which is also noted with the batch.
    """
    with lock_held("pay batch", batch.pk) as mine:
        if not mine:
            raise ValidationError(_BUSY)
        batch = PayBatch.objects.select_related("study").get(pk=batch.pk)
        if batch.finished_at is not None:
            return batch
        try:
            with panel_errors(_connection(batch.study)) as api:
                for part in batch.parts.exclude(state__in=[State.SENT, State.CANCELLED]):
                    _part_send(batch, part, api)
        except ValidationError as error:
            PayBatch.objects.filter(pk=batch.pk).update(
                fault=" ".join(error.messages)[:800], retry_at=_retry_at(batch, error)
            )
            raise
        return _finish(batch)


def pay_batches_sweep() -> int:
    """Continue the batches that a failure of the panel's API or a killed process has interrupted; returns how many were finished."""
    due = PayBatch.objects.filter(
        finished_at=None, retry_at__lte=timezone.now(), study__deleted_at=None, study__archived_at=None
    )
    finished = 0
    for batch in due.select_related("study").order_by("retry_at", "pk"):
        # Behind the others at the next sweep, so that one whose sending fails unexpectedly doesn't keep them from their turn.
        PayBatch.objects.filter(pk=batch.pk).update(retry_at=timezone.now() + SHORTEST_RETRY)
        try:
            finished += pay_batch_send(batch=batch).finished_at is not None
        except ValidationError as error:
            log.warning(
                "a batch of %s could not be continued: %s", batch.study.slug, " ".join(error.messages)
            )
    return finished


def _retry_at(batch: PayBatch, error: ValidationError) -> datetime | None:
    """When to continue by itself: never if the panel has refused something, because a researcher has to change it first."""
    now, cause = timezone.now(), error.__cause__
    sent = batch.parts.filter(state=State.SENDING).values_list("sent_at", flat=True).first()
    waited = now - (sent or batch.created_at)
    passing = error.code == UNSEEN or (isinstance(cause, PanelApiError) and cause.passing)
    if not passing or waited > LAST_RETRY:
        return None
    return now + min(max(waited / 2, SHORTEST_RETRY), LONGEST_RETRY)


def pay_batch_settle(*, batch: PayBatch, paid: bool, by: User | None) -> PayBatch:
    """A researcher has looked at the panel: the part whose reply was lost was ``paid``, or not, and is then sent again by the next attempt.

    If the panel shows the payment, it counts as paid whatever was said. Raises ``ValidationError`` if no part is in doubt.
    """
    with lock_held("pay batch", batch.pk) as mine:
        if not mine:
            raise ValidationError(_BUSY)
        part = batch.parts.filter(state=State.SENDING).first()
        if part is None:
            raise ValidationError("No part of this batch is in doubt.")
        if not paid:
            with panel_errors(_connection(batch.study)) as api:
                paid = bool(_shown_as_paid(part, api))
        part.state = State.SENT if paid else State.WAITING
        part.remote_id = part.remote_id if paid else ""
        part.save(update_fields=["state", "remote_id"])
        audit_write(
            action=AuditAction.PAY_BATCH_SETTLED,
            study=batch.study,
            by=by,
            target=str(part),
            after={"paid": paid},
        )
        open_still = batch.parts.exclude(state__in=[State.SENT, State.CANCELLED]).exists()
        return batch if open_still else _finish(batch)


def pay_batch_cancel(*, batch: PayBatch, by: User | None) -> int:
    """Cancel what the batch hasn't sent: the people are owed it again. Returns how many payments. What was sent stays.

    Raises ``ValidationError`` if it's unknown whether a part was paid.
    """
    with lock_held("pay batch", batch.pk) as mine:
        if not mine:
            raise ValidationError(_BUSY)
        with transaction.atomic():  # within the lock: who takes it next must see what was cancelled
            return _cancel(batch, by)


def _cancel(batch: PayBatch, by: User | None) -> int:
    Study.objects.select_for_update(no_key=True).get(pk=batch.study_id)
    if batch.parts.filter(state=State.SENDING).exists():
        raise ValidationError("A part may have been paid. Say first whether it was.")
    left = batch.parts.filter(state__in=[State.WAITING, State.SET_UP])
    entries = list(LedgerEntry.objects.filter(pay_line__part__in=left, undone_at__isnull=True))
    entries_undo(batch, entries, by=by)
    left.update(state=State.CANCELLED)
    PayBatch.objects.filter(pk=batch.pk).update(finished_at=timezone.now(), fault="", retry_at=None)
    return len(entries)


@transaction.atomic
def entries_undo(batch: PayBatch, payments: Sequence[LedgerEntry], *, by: User | None) -> None:
    """Undo payments of a batch, and the credits that were given for them: all or none. The audit trail says so."""
    now = timezone.now()
    for reference in sorted({payment.reference for payment in payments}):
        undone = {payment.rater_id: payment.amount for payment in payments if payment.reference == reference}
        entries = LedgerEntry.objects.filter(
            study=batch.study_id, rater__in=undone, reference=reference, undone_at__isnull=True
        )
        # The payments first: without them, the credits aren't needed any more.
        entries.filter(kind=LedgerEntry.Kind.PAYMENT).update(undone_at=now, undone_by=by)
        entries.exclude(kind=LedgerEntry.Kind.PAYMENT).update(undone_at=now, undone_by=by)
        about = {"currency": batch.currency, "reference": reference}
        after = {rater: about | {"amount": amount} for rater, amount in undone.items()}
        audit_write_each(action=AuditAction.PAYMENT_UNDONE, study=batch.study, by=by, after=after)


# -- parts -------------------------------------------------------------------------------------------------


def _connection(study: Study) -> PanelConnection:
    connection = connection_of(study)
    if connection is None:
        raise ValidationError("The workspace isn't connected to the panel. Connect it first.")
    if connection.currency and connection.currency != study.currency:
        raise ValidationError(
            f"The study pays in {study.currency} and the panel's account in {connection.currency}, so nothing can be paid through it."
        )
    return connection


def _reference(batch: PayBatch, kind: str) -> str:
    # By its key, which it keeps when the study is moved to another installation.
    return f"{batch.panel} batch {batch.key}: {PayPart.Kind(kind).label}"


def _parts_make(batch: PayBatch, payments: Sequence[Payment], api: PanelApi, by: User | None) -> None:
    """The parts of a batch with their lines, and the entries of the ledger: credits first, since payments need them."""
    if not api.pays:
        raise ValidationError("The panel's API takes no payments. Download the file instead.")
    sizes = {APPROVE: api.approvals_at_once, SCREENED: api.approvals_at_once, BONUS: api.bonuses_at_once}
    groups: dict[tuple[str, str], list[Payment]] = {}
    for payment in payments:
        groups.setdefault((payment.kind, payment.remote_study), []).append(payment)
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            study_id=batch.study_id, rater_id=payment.rater, amount=payment.credit, created_by=by,
            kind=LedgerEntry.Kind.SCREEN_OUT if payment.kind == SCREENED else LedgerEntry.Kind.REWARD,
            reason="fixed reward of the panel's study", reference=_reference(batch, payment.kind),
        )
        for payment in payments if payment.credit > 0
    )  # fmt: skip
    number = 0
    for (kind, remote), some in groups.items():
        for first in range(0, len(some), sizes[kind]):
            number += 1
            part = PayPart.objects.create(batch=batch, number=number, kind=kind, remote_study=remote)
            entries = LedgerEntry.objects.bulk_create(
                LedgerEntry(
                    study_id=batch.study_id, rater_id=one.rater, kind=LedgerEntry.Kind.PAYMENT, amount=one.amount,
                    reason=f"{PayPart.Kind(kind).label} through the panel", reference=_reference(batch, kind), created_by=by,
                )
                for one in some[first : first + sizes[kind]]
            )  # fmt: skip
            PayLine.objects.bulk_create(PayLine(part=part, entry=entry) for entry in entries)


def _people(part: PayPart) -> list[tuple[LedgerEntry, Participation]]:
    """The payments of a part with the people as the panel knows them. Those whose data were removed since aren't paid: their
    payments are undone."""
    entries = list(LedgerEntry.objects.filter(pay_line__part=part, undone_at__isnull=True).order_by("pk"))
    joined = Participation.objects.filter(
        study=part.batch.study_id, recruiter=part.batch.panel, rater__in=[entry.rater_id for entry in entries]
    ).exclude(recruiter_id="")
    known = {one.rater_id: one for one in joined}
    entries_undo(part.batch, [entry for entry in entries if entry.rater_id not in known], by=None)
    return [(entry, known[entry.rater_id]) for entry in entries if entry.rater_id in known]


def _part_send(batch: PayBatch, part: PayPart, api: PanelApi) -> None:
    if part.kind == SCREENED:  # the panel has paid these when people entered the code
        _part_move(part, State.SENT)
    elif part.kind == APPROVE:
        _approve(part, api)
    else:
        _bonuses(part, api)


def _part_move(part: PayPart, state: str, **more: object) -> None:
    for name, value in more.items():
        setattr(part, name, value)
    part.state = state
    part.save(update_fields=["state", *more])


def _approve(part: PayPart, api: PanelApi) -> None:
    """Approve the submissions that still wait for review. Who was rejected or returned it meanwhile isn't paid by this part."""
    statuses = {submission.id: submission.status for submission in api.submissions(part.remote_study)}
    people = _people(part)
    waiting = [
        who.recruiter_session for _, who in people if statuses.get(who.recruiter_session) == "AWAITING REVIEW"
    ]
    payable = ("AWAITING REVIEW", "APPROVED")
    unpaid = [entry for entry, who in people if statuses.get(who.recruiter_session) not in payable]
    entries_undo(part.batch, unpaid, by=None)
    if waiting:
        api.submissions_approve(waiting)
    _part_move(part, State.SENT, sent_at=timezone.now())


def _bonuses(part: PayPart, api: PanelApi) -> None:
    if part.state == State.SENDING:
        shown = _shown_as_paid(part, api)
        if shown is None:
            raise ValidationError(
                f"The reply to the request that pays part {part.number} was lost, and the person by whom it could be seen was removed. Look at the"
                " panel and say whether the bonuses were paid."
            )
        if not shown:
            raise ValidationError(
                f"The request that pays part {part.number} was sent at {part.sent_at:%Y-%m-%d %H:%M} UTC, and its reply was lost. The"
                " panel doesn't show the bonuses yet, which can take some minutes. Continue later, or look at the panel and say whether"
                " they were paid. Nothing is sent again by itself.",
                code=UNSEEN,
            )
        _part_move(part, State.SENT)
        return
    people = _people(part)
    if not people:
        _part_move(part, State.CANCELLED)
        return
    # Set up anew after any failure: it pays nothing, and somebody's data may have been removed since.
    made = api.bonuses_set_up(part.remote_study, [(who.recruiter_id, entry.amount) for entry, who in people])
    _part_move(part, State.SET_UP, remote_id=made.id, cost=made.cost)
    entry, first = people[0]
    before = _same(api, first, entry.amount)
    _part_move(part, State.SENDING, seen_before=before, sent_at=timezone.now())
    try:
        api.bonuses_pay(part.remote_id)
    except PanelApiError as error:
        if not error.uncertain:  # refused, or never arrived
            _part_move(part, State.SET_UP)
        raise
    _part_move(part, State.SENT)


def _shown_as_paid(part: PayPart, api: PanelApi) -> bool | None:
    """Whether the panel shows a bonus of the first person's amount more than before the request; None if that person's data were
    removed since."""
    sent = Q(undone_at=None) | Q(undone_at__gt=part.sent_at)
    first = LedgerEntry.objects.filter(sent, pay_line__part=part).order_by("pk").first()
    if first is None:
        return None
    joined = Participation.objects.filter(
        study=part.batch.study_id, recruiter=part.batch.panel, rater=first.rater_id
    )
    who = joined.exclude(recruiter_id="").first()
    return None if who is None else _same(api, who, first.amount) > (part.seen_before or 0)


def _same(api: PanelApi, who: Participation, amount: Decimal) -> int:
    return sum(paid == amount for paid in api.bonuses_of(who.recruiter_session))


def _finish(batch: PayBatch) -> PayBatch:
    batch.finished_at, batch.fault, batch.retry_at = timezone.now(), "", None
    batch.save(update_fields=["finished_at", "fault", "retry_at"])
    return batch
