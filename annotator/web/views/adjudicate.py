"""The screen on which researchers adjudicate a contested item: the annotators' own task screen, with their answers above it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.admin.views.decorators import staff_member_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotator.hit_types.base import JSON, FieldErrors, HitType, Stage
from annotator.models import Item, Membership, Study, User
from annotator.selectors.adjudication import (
    AdjudicationQueue,
    adjudication_queue,
    adjudicators_presentation,
    answers_counted,
    may_adjudicate,
)
from annotator.selectors.adjudication_order import ORDERS
from annotator.selectors.study import study_get_for, study_hit_type
from annotator.services.adjudication import adjudication_record, adjudication_undo, last_undoable
from annotator.web.language import study_language_use
from annotator.web.task_page import TaskPage
from annotator.web.views.task import raw_response, to_page
from annotator.web.wording import stages_shown, wording_shown

REVIEWER = Membership.Role.REVIEWER


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@staff_member_required(login_url="admin:login")
def adjudicate(request: HttpRequest, pk: int, item_pk: int) -> HttpResponse:
    """All stages of a contested item as one form. What is sent is stored, and the next item of the queue follows.

    Neither the item's key, which may name a system, nor another adjudicator's label is on the page.
    """
    user = cast(User, request.user)
    study = study_get_for(user=user, pk=pk, role=REVIEWER)
    item = get_object_or_404(study.items, pk=item_pk)
    order = _order(request)
    raw: dict[str, Any] = {}
    errors: dict[str, str] = {}
    if request.method == "POST":
        raw = raw_response(request.POST)
        try:
            adjudication_record(item=item, by=user, raw=raw)
        except FieldErrors as error:
            errors = error.errors
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return to_page(request, _queue_url(study, order))
        else:
            messages.success(request, "Label saved.")
            queue = adjudication_queue(study=study, user=user, order=order)
            return to_page(request, _next_url(study, queue, order))
    elif fault := may_adjudicate(item=item, user=user):
        messages.error(request, fault)
        return redirect(_queue_url(study, order))
    study_language_use(request, study)
    kind = study_hit_type(study)
    if kind.external:
        raise Http404("this study has no task")
    queue = adjudication_queue(study=study, user=user, order=order)
    page = TaskPage(
        mode="adjudication",
        study=study,
        stage=everything(kind, item, adjudicators_presentation(study, kind, item), study.language),
        stages=[],
        committed=[],
        response=raw,
        errors=errors,
        submit_url=f"{request.path}?{urlencode({'order': order})}",
        task_title=wording_shown(kind.task_title),
        instructions_url=reverse("annotator:preview_instructions", args=[study.pk]),
    )
    context = page.context() | {
        "answers": answers_counted(study=study, item=item),
        "place": queue.waiting.number_of(item.pk),
        "waiting": len(queue.waiting),
        "back_url": _queue_url(study, order),
        "last": last_undoable(study=study, by=user),
        "order": order,
    }
    partial = request.headers.get("HX-Request")
    name = "annotator/_task.html" if partial else "annotator/adjudicate.html"
    return render(request, name, context, status=422 if errors else 200)


@require_POST
@staff_member_required(login_url="admin:login")
def adjudicate_undo(request: HttpRequest, pk: int, adjudication_pk: int) -> HttpResponse:
    """Take one's own label back, and show its item again."""
    user = cast(User, request.user)
    study = study_get_for(user=user, pk=pk, role=REVIEWER)
    found = get_object_or_404(study.adjudications, pk=adjudication_pk)
    order = _order(request)
    try:
        adjudication_undo(adjudication=found, by=user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return to_page(request, _queue_url(study, order))
    messages.success(request, "Label undone. Here is the item again.")
    return to_page(request, _item_url(study, found.item_id, order))


def everything(kind: HitType, item: Item, presentation: JSON, language: str) -> Stage:
    """All stages of an item as one, with everything open that annotators see one after the other."""
    stages = stages_shown(kind.stages(item.payload, presentation), language)
    blocks = {block.name: block for stage in stages for block in stage.blocks}
    fields = {field.name: field for stage in stages for field in stage.fields}
    last = stages[-1]
    return Stage(last.name, last.title, tuple(blocks.values()), tuple(fields.values()), last.lead)


def _order(request: HttpRequest) -> str:
    order = request.GET.get("order", "")
    return order if order in ORDERS else next(iter(ORDERS))


def _queue_url(study: Study, order: str) -> str:
    return f"{reverse('admin:study_adjudication', args=[study.pk])}?{urlencode({'order': order})}"


def _item_url(study: Study, item: int, order: str) -> str:
    return f"{reverse('annotator:adjudicate', args=[study.pk, item])}?{urlencode({'order': order})}"


def _next_url(study: Study, queue: AdjudicationQueue, order: str) -> str:
    if queue.waiting:
        return _item_url(study, queue.waiting[0].item, order)
    return _queue_url(study, order)
