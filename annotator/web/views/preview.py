"""Shows researchers a study as annotators see it. Nothing is stored."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.core.allocation import presentation_rng
from annotator.hit_types.base import JSON, FieldErrors, answers_in_words
from annotator.selectors.study import study_get_for, study_hit_type
from annotator.selectors.study_texts import draft_rules, instructions_here
from annotator.web.language import study_language_use
from annotator.web.markdown import instructions_context
from annotator.web.task_page import TaskPage, stage_marks
from annotator.web.views.preview_steps import preview_bar
from annotator.web.views.task import raw_response, template
from annotator.web.wording import stages_shown, wording_shown


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
    number = _whole(request.POST.get("item") or request.GET.get("item"), 0)
    count = study.items.count()
    item = study.items.order_by("id")[number : number + 1].first()
    if item is None:
        if number:
            raise Http404("no such item")
        return render(request, "annotator/preview_empty.html", {"study": study})
    presentation = kind.present(item.payload, presentation_rng(seed=study.seed, item_key=item.key, rater=0))
    stages = stages_shown(kind.stages(item.payload, presentation), study.language)
    current = min(_whole(request.POST.get("stage"), 0), len(stages) - 1)
    raw: dict[str, Any] = {}
    errors: dict[str, str] = {}
    before: JSON = {}
    said: list[tuple[str, str]] = []
    if request.method == "POST":
        raw = raw_response(request.POST)
        try:
            for earlier in range(current):
                prefix = f"before-{earlier}-"
                sent = {name[len(prefix) :]: value for name, value in raw.items() if name.startswith(prefix)}
                before |= kind.parse_response(item.payload, sent, earlier, presentation)
            response = kind.parse_response(item.payload, raw, current, presentation)
        except FieldErrors as error:
            errors = error.errors
        else:
            before |= response
            raw = {}
            if current + 1 < len(stages):
                current += 1
            else:
                said = kind.describe(item.payload, before, presentation, gettext)
                number, current, before = (number + 1) % count, 0, {}
                item = study.items.order_by("id")[number]
                presentation = kind.present(
                    item.payload, presentation_rng(seed=study.seed, item_key=item.key, rater=0)
                )
                stages = stages_shown(kind.stages(item.payload, presentation), study.language)
    page = TaskPage(
        mode="preview",
        study=study,
        stage=stages[current],
        stages=stage_marks(stages, current) if len(stages) > 1 else [],
        committed=answers_in_words(kind.stages(item.payload, presentation)[:current], before, gettext),
        response=raw,
        errors=errors,
        submit_url=request.path,
        task_title=wording_shown(kind.task_title),
        instructions_url=reverse("annotator:preview_instructions", args=[study.pk]),
    )
    context = page.context() | {
        "hidden": _carried(stages, before, current) | {"item": number, "stage": current},
        "said": said,
        "number": number + 1,
        "count": count,
        **preview_bar(study, "task"),
    }
    name = template(request) if request.headers.get("HX-Request") else "annotator/preview.html"
    return render(request, name, context, status=422 if errors else 200)


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
