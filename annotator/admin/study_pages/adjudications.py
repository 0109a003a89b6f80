"""The queue of contested items to adjudicate, and what is decided."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages.frame import REVIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.core.words import plural
from annotator.models import Study, User
from annotator.selectors.adjudication import adjudication_queue
from annotator.selectors.adjudication_order import ORDERS
from annotator.selectors.study import study_hit_type
from annotator.services.adjudication import adjudicated_to_gold
from annotator.services.study_copy import slug_free

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


@study_page(REVIEWER, methods=("POST",))
def gold(request: HttpRequest, study: Study) -> HttpResponse:
    """Copy the study into a new draft in which the decided items are gold items."""
    title = f"{study.title} (with gold)"[:200]
    try:
        copy, items = adjudicated_to_gold(
            study=study, by=cast(User, request.user), slug=slug_free(study.slug), title=title
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("admin:study_adjudication", study.pk)
    messages.success(
        request, f"“{copy.title}” has been created as a draft with {plural(items, 'gold item')}."
    )
    return redirect("admin:study_items", copy.pk)
