"""The queue of contested items to adjudicate, and what is decided."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest, HttpResponse

from annotator.admin.study_pages.frame import REVIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.models import Study, User
from annotator.selectors.adjudication import ORDERS, adjudication_queue
from annotator.selectors.study import study_hit_type

PAGE = 50


@study_page(REVIEWER)
def adjudication(request: HttpRequest, study: Study) -> HttpResponse:
    """The contested items that this person may label, in the chosen order. Nothing on it names an item's system or tells another
    adjudicator's label.
    """
    order = request.GET.get("order", "")
    order = order if order in ORDERS else next(iter(ORDERS))
    offset = min(row_id(request.GET.get("from")), 10**9)
    queue = adjudication_queue(study=study, user=cast(User, request.user), order=order)
    shown = queue.waiting[offset : offset + PAGE]
    return render(
        request,
        study,
        "adjudication",
        tab="review",
        title=f"Adjudication of {study.title}",
        queue=queue,
        rows=[(offset + number, one) for number, one in enumerate(shown, 1)],
        order=order,
        orders=ORDERS,
        external=study_hit_type(study).external,
        following=offset + PAGE if len(queue.waiting) > offset + PAGE else 0,
    )
