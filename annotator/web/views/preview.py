"""Shows researchers a study as annotators see it. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.admin.views.decorators import staff_member_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.core.allocation import presentation_rng
from annotator.hit_types.base import JSON, FieldErrors, HitType, answers_in_words
from annotator.models import Item, Study
from annotator.selectors.study import study_get_for, study_hit_type
from annotator.selectors.study_texts import draft_rules, instructions_here
from annotator.web.language import study_language_use
from annotator.web.markdown import instructions_context
from annotator.web.task_page import TaskPage, stage_marks
from annotator.web.views.preview_steps import preview_bar
from annotator.web.views.task import raw_response, template
from annotator.web.wording import say, stages_shown, wording_shown


@never_cache
@require_http_methods(["GET", "POST"])
@staff_member_required(login_url="admin:login")
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """One item after another on the task screen, stage by stage.

    Answers to earlier stages are carried in the form (``before-<stage>-<field>``), since nothing is stored.
    """
    study = study_get_for(user=request.user, pk=pk)
    study_language_use(request, study)
    kind = study_hit_type(study)
    items = study.items.order_by("id")
    turn = task_turn(request, study=study, kind=kind, count=items.count(), item_at=lambda n: _at(items, n))
    if turn is None:
        return render(request, "annotator/preview_empty.html", {"study": study})
    context = turn | {
        "instructions_url": reverse("annotator:preview_instructions", args=[study.pk]),
        **preview_bar(study, "task"),
    }
    name = template(request) if request.headers.get("HX-Request") else "annotator/preview.html"
    return render(request, name, context, status=422 if context["errors"] else 200)


def _at(items: QuerySet[Item], number: int) -> tuple[str, JSON] | None:
    item = items[number : number + 1].first()
    return (item.key, item.payload) if item else None


def task_turn(
    request: HttpRequest,
    *,
    study: Study,
    kind: HitType,
    count: int,
    item_at: Callable[[int], tuple[str, JSON] | None],
) -> dict[str, Any] | None:
    """The context of the task screen after what was sent: the same stage with errors, the next stage, or the next item. None if
    there are no items. ``item_at`` gives an item's key and payload by its number; raises ``Http404`` for a number beyond the last.
    """
    number = _whole(request.POST.get("item") or request.GET.get("item"), 0)
    found = item_at(number)
    if found is None:
        if number:
            raise Http404("no such item")
        return None
    key, payload = found
    presentation = kind.present(payload, presentation_rng(seed=study.seed, item_key=key, rater=0))
    stages = stages_shown(kind.stages(payload, presentation), study.language)
    current = min(_whole(request.POST.get("stage"), 0), len(stages) - 1)
    raw: dict[str, Any] = {}
    errors: dict[str, str] = {}
    before: JSON = {}
    said: list[tuple[str, str]] = []
    if request.method == "POST" and ("stage" in request.POST or "source" not in request.POST):
        raw = raw_response(request.POST)
        try:
            for earlier in range(current):
                prefix = f"before-{earlier}-"
                sent = {name[len(prefix) :]: value for name, value in raw.items() if name.startswith(prefix)}
                before |= kind.parse_response(payload, sent, earlier, presentation)
            response = kind.parse_response(payload, raw, current, presentation)
        except FieldErrors as error:
            errors = error.errors
        else:
            before |= response
            raw = {}
            if current + 1 < len(stages):
                current += 1
            else:
                said = kind.describe(payload, before, presentation, say)
                number, current, before = (number + 1) % count, 0, {}
                key, payload = item_at(number) or (key, payload)
                presentation = kind.present(payload, presentation_rng(seed=study.seed, item_key=key, rater=0))
                stages = stages_shown(kind.stages(payload, presentation), study.language)
    page = TaskPage(
        mode="preview",
        study=study,
        stage=stages[current],
        stages=stage_marks(stages, current) if len(stages) > 1 else [],
        committed=answers_in_words(kind.stages(payload, presentation)[:current], before, say),
        response=raw,
        errors=errors,
        submit_url=request.path,
        task_title=wording_shown(kind.task_title),
    )
    return page.context() | {
        "hidden": _carried(stages, before, current) | {"item": number, "stage": current},
        "said": said,
        "number": number + 1,
        "count": count,
    }


def _carried(stages: Any, before: JSON, current: int) -> dict[str, Any]:
    return {
        f"before-{number}-{field.name}": before[field.name]
        for number in range(current)
        for field in stages[number].fields
        if field.name in before
    }


def _whole(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 9 else default


@never_cache
@staff_member_required(login_url="admin:login")
def preview_instructions(request: HttpRequest, pk: int) -> HttpResponse:
    """The instructions as annotators will see them, with worked examples."""
    study = study_get_for(user=request.user, pk=pk)
    study_language_use(request, study)
    kind = study_hit_type(study)
    context = {
        "study": study,
        "task_title": wording_shown(kind.task_title),
        "parts": instructions_context(kind, instructions_here(draft_rules(study, kind), own=study.language)),
        "step": "preview",
        **preview_bar(study, "instructions"),
    }
    partial = request.headers.get("HX-Request")
    return render(
        request, "annotator/_instructions.html" if partial else "annotator/instructions.html", context
    )
