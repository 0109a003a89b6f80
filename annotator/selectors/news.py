"""What happens in studies that their researchers want to hear about: messages, places, pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import reverse

from annotator.core.kept_figures import figures_kept
from annotator.core.news import News
from annotator.core.words import plural
from annotator.models import Message, Study
from annotator.selectors.budget import budget_of
from annotator.selectors.home import StudyRow, home_rows

#: Places are running out when fewer than this share of them is open.
FEW = 0.1


def study_news(studies: Sequence[Study]) -> Iterator[News]:
    """The news of studies that are running; a fixed number of queries, and one more for each study whose researchers set an amount for the
    notice or a cap. Rehearsals make none."""
    with figures_kept(*(study.pk for study in studies if getattr(study, "is_large", False))):
        rows = home_rows(studies)
    for row in rows:
        yield from _of_places(row)
        yield from _of_pay(row)
    open_ = Message.objects.filter(study__in=studies, settled_at__isnull=True, rater__rehearsal=False)
    for message in open_.exclude(kind=Message.Kind.REPLY).order_by("pk"):
        page = "study_data_requests" if message.kind == Message.Kind.DELETION else "study_messages"
        yield News(
            message.study_id,
            "messages",
            f"message {message.pk}",
            f"New {message.get_kind_display()}",
            reverse(f"admin:{page}", args=[message.study_id]),
            message.created_at,
        )


def _of_places(row: StudyRow) -> Iterator[News]:
    study, left = row.study, row.places - row.done
    if study.state != Study.State.LIVE or not row.places:
        return
    path = reverse("admin:study_live", args=[study.pk])
    if not left:
        yield News(
            study.pk, "full", f"full {row.places}", f"All {plural(row.places, 'place')} are filled", path
        )
    elif left < FEW * row.places:
        text = f"Places are running out: {left} of {row.places} are left"
        yield News(study.pk, "places", f"few places {row.places}", text, path)


def _of_pay(row: StudyRow) -> Iterator[News]:
    study = row.study
    if row.low_pay is not None:
        yield News(
            study.pk,
            "pay",
            f"low pay {study.snapshot_id}",
            f"Pays {row.low_pay:.2f} {study.currency} an hour, below your minimum of {study.pay_floor_per_hour:.2f}",
            reverse("admin:annotator_study_change", args=[study.pk]),
        )
    if study.budget_cap is None and study.budget_notice is None:
        return
    budget, path = budget_of(study), reverse("admin:study_payments", args=[study.pk])
    if budget.full:
        text = f"The cap of {study.budget_cap:,.2f} {study.currency} is reached; no more tasks are given out"
        yield News(study.pk, "pay", f"cap {study.budget_cap}", text, path)
    elif budget.noticed:
        text = f"{budget.committed:,.2f} {study.currency} are earned or reserved, your notice was at {study.budget_notice:,.2f}"
        yield News(study.pk, "pay", f"budget notice {study.budget_notice}", text, path)
