"""Book the fixed reward of people whom the panel has screened out, as soon as it says so: it has paid them already."""

from __future__ import annotations

import logging
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotator.models import AuditAction, LedgerEntry, PanelConnection, Participation, Study
from annotator.selectors.owed import balances_of
from annotator.selectors.pay_batch import remote_of, rewards_of, screen_out_reference, screened_by_batch
from annotator.services.audit import audit_write

log = logging.getLogger(__name__)
SCREENED_OUT = "SCREENED OUT"
Kind = LedgerEntry.Kind


@transaction.atomic
def screen_out_apply(*, participation: Participation, before: str) -> bool:
    """Book or take back a screen-out after the submission's status at the panel has changed from ``before``; returns whether the
    ledger changed. The caller has locked the study, so that doubled and reordered events book it once.

    The payment is the panel's fixed reward; what the person hasn't earned by their work is a credit. Nothing is booked where the reward
    isn't known (a study that wasn't created from here), where the panel's account has another currency, or where a batch or a researcher
    has recorded it.
    """
    now = participation.panel_status
    if (now == SCREENED_OUT) == (before == SCREENED_OUT) or participation.rater.rehearsal:
        return False
    study = participation.study
    return _book(study, participation) if now == SCREENED_OUT else _take_back(study, participation)


def _book(study: Study, person: Participation) -> bool:
    rewards = rewards_of(study)
    fixed = rewards.get(remote_of(study, person, rewards))
    accounts = PanelConnection.objects.filter(workspace=study.workspace_id, panel=study.panel)
    elsewhere = accounts.exclude(currency="").exclude(currency=study.currency).exists()
    if fixed is None or not fixed.screened or elsewhere or screened_by_batch(study, person.rater_id):
        return False
    reward, reference = fixed.screened, screen_out_reference(person.recruiter)
    mine = study.ledger.filter(rater=person.rater_id, undone_at__isnull=True)
    [balance] = balances_of(study, raters=[person.rater_id])
    if mine.filter(kind=Kind.PAYMENT, reference=reference).exists() or balance.paid >= reward:
        return False
    about = {"study": study, "rater": person.rater, "reference": reference}
    credit = max(reward - balance.owed, Decimal(0))
    if credit:
        LedgerEntry.objects.create(
            kind=Kind.SCREEN_OUT, amount=credit, reason="fixed reward of the panel's study", **about
        )
    LedgerEntry.objects.create(
        kind=Kind.PAYMENT, amount=reward, reason="paid by the panel to people it screens out", **about
    )
    after = {"amount": reward, "currency": study.currency, "reference": reference}
    audit_write(action=AuditAction.PAYMENT_RECORDED, study=study, rater=person.rater, after=after)
    return True


def _take_back(study: Study, person: Participation) -> bool:
    """Undo what was booked: the panel says that the person isn't screened out after all."""
    reference = screen_out_reference(person.recruiter)
    booked = study.ledger.filter(rater=person.rater_id, reference=reference, undone_at__isnull=True)
    paid = booked.filter(kind=Kind.PAYMENT).first()
    if paid is None:
        return False
    try:
        with transaction.atomic():
            # The payment first: without it, the credit isn't needed any more.
            booked.filter(kind=Kind.PAYMENT).update(undone_at=timezone.now())
            booked.filter(kind=Kind.SCREEN_OUT).update(undone_at=timezone.now())
            before = {"amount": paid.amount, "currency": study.currency, "reference": reference}
            audit_write(action=AuditAction.PAYMENT_UNDONE, study=study, rater=person.rater, after=before)
    except IntegrityError:  # the credit was paid out meanwhile
        log.warning("a screen-out of %s can't be taken back: its credit was paid", study.slug)
        return False
    return True
