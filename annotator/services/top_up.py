"""Give everybody the top-up that makes the median hour reach the study's minimum."""

from __future__ import annotations

from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.models import AuditAction, LedgerEntry, Study, User
from annotator.selectors.top_up import TopUp, top_up_of
from annotator.services.audit import audit_write_each


@transaction.atomic
def top_up_give(*, study: Study, total: Decimal, by: User | None) -> TopUp:
    """Give the top-up that was proposed and costs ``total``, in the study's currency; it is owed from then on.

    Asking twice gives it once: afterwards the median hour reaches the minimum, and nothing is due. Raises ``ValidationError`` if nothing is
    due, or if another amount is due than the researcher has seen.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    due = top_up_of(study)
    if not due.amounts:
        raise ValidationError(due.why or "No top-up is due now. Nothing was given.")
    if not total.is_finite() or total != due.total:
        raise ValidationError(
            f"The top-up costs {due.total} {study.currency} now, which isn't what was confirmed. Nothing was given; check it again."
        )
    reason = f"top-up to the minimum of {due.floor} {study.currency} an hour"
    LedgerEntry.objects.bulk_create(
        LedgerEntry(
            study=study,
            rater_id=rater,
            kind=LedgerEntry.Kind.TOP_UP,
            amount=amount,
            reason=reason,
            created_by=by,
        )
        for rater, _, amount in due.amounts
    )
    after = {rater: {"amount": amount, "currency": study.currency} for rater, _, amount in due.amounts}
    audit_write_each(action=AuditAction.TOP_UP_GIVEN, study=study, by=by, after=after, target=reason)
    return due
