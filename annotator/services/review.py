"""Accept submitted work as paid work. Whether it counts in statistics is decided by exclusions."""

from __future__ import annotations

from collections import Counter

from django.db import transaction
from django.db.models import QuerySet

from annotator.models import AuditAction, Judgment, Review, Study, User
from annotator.services.audit import audit_write


@transaction.atomic
def judgments_accept(*, judgments: QuerySet[Judgment], by: User | None) -> int:
    """Accept judgments; returns how many were not accepted before. Those that a decision leaves unpaid are passed over."""
    chosen = list(
        judgments.filter(review__isnull=True, unpaid__isnull=True)
        .order_by()
        .select_for_update(of=("self",), no_key=True)  # locked, so that none of them can be undone meanwhile
        .values_list("pk", "study_id")
    )
    rows = [Review(judgment_id=pk, by=by) for pk, _ in chosen]
    Review.objects.bulk_create(rows, ignore_conflicts=True, batch_size=5_000)
    counts = Counter(study for _, study in chosen)
    for study in Study.objects.filter(pk__in=counts):
        after = {"judgments": counts[study.pk]}
        audit_write(action=AuditAction.WORK_ACCEPTED, study=study, by=by, after=after)
    return len(rows)
