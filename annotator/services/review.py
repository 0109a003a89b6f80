"""Accept submitted work as paid work. Whether it counts in statistics is decided by exclusions."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from annotator.models import Judgment, Review, User


@transaction.atomic
def judgments_accept(*, judgments: QuerySet[Judgment], by: User | None) -> int:
    """Accept judgments; returns how many were not accepted before."""
    rows = [
        Review(judgment_id=pk, by=by)
        for pk in judgments.filter(review__isnull=True)
        .order_by()
        .select_for_update(of=("self",), no_key=True)  # none of them can be taken back meanwhile
        .values_list("pk", flat=True)
    ]
    Review.objects.bulk_create(rows, ignore_conflicts=True, batch_size=5_000)
    return len(rows)
