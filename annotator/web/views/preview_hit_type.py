"""Shows researchers what a file makes that isn't saved: the task screen, practice and exam, instructions and prompt. Nothing is stored.

The page is shown within the editor of HIT types. The file is carried in its forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from csp.decorators import csp_replace
from django.contrib.admin.views.decorators import staff_member_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST

from annotator.hit_types.arms import ARM_TITLES
from annotator.hit_types.base import JSON, HitType
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read, sample_payload
from annotator.models import Study
from annotator.selectors.study_texts import WRITTEN_IN, QuestionHere, TextHere
from annotator.services.declared_file import source_text
from annotator.web.markdown import instructions_context
from annotator.web.views.preview import task_turn
from annotator.web.views.preview_questions import exam_preview, practice_preview
from annotator.web.views.task import template
from annotator.web.wording import wording_shown

#: The parts that can be shown, each with its title.
PARTS = {
    "task": "Task",
    "instructions": "Instructions",
    "practice": "Practice",
    "exam": "Exam",
    "prompt": "Prompt",
}
MOST_ITEMS = 50


@never_cache
@require_POST
@staff_member_required(login_url="admin:login")
@csp_replace({"frame-ancestors": ["'self'"]})
@xframe_options_sameorigin
def preview_hit_type(request: HttpRequest) -> HttpResponse:
    """One part of the type that a file declares, or the problems of the file, each with its line."""
    source = request.POST.get("source", "")
    part = request.POST.get("part", "task")
    part = part if part in PARTS else "task"
    try:
        kind = hit_type_read(source_text(source))
    except DeclarationRefused as error:
        return render(request, "annotator/hit_type_problems.html", {"problems": error.problems}, status=422)
    own = kind.with_arms(kind.control_arms)
    study = _study(own)
    shared: dict[str, Any] = {
        "study": study, "task_title": wording_shown(kind.task_title), "submit_url": request.path, "instructions_url": "",
        "hidden": {"source": source, "part": part}, "back_url": "",
    }  # fmt: skip
    if part == "instructions":
        shown = shared | {
            "parts": instructions_context(own, TextHere(own.instructions, WRITTEN_IN)),
            "step": "preview",
        }
        return render(request, "annotator/instructions.html", shown)
    if part == "prompt":
        return render(request, "annotator/hit_type_prompt.html", shared | {"stages": _prompts(kind)})
    if part in ("practice", "exam"):
        questions = [QuestionHere(one, study.language) for one in getattr(own, part)]
        if not questions:
            return render(
                request,
                "annotator/hit_type_prompt.html",
                shared | {"nothing": f"The file has no {part} questions."},
            )
        show = exam_preview if part == "exam" else practice_preview
        return show(request, study, kind, questions, shared)
    items = list(islice(_payloads(kind), MOST_ITEMS))
    turn = task_turn(
        request, study=study, kind=kind, count=len(items),
        item_at=lambda number: (str(number), items[number]) if number < len(items) else None,
    )  # fmt: skip
    if turn is None:
        return render(
            request, "annotator/hit_type_prompt.html", shared | {"nothing": "The file has no item to show."}
        )
    context = shared | turn | {"hidden": turn["hidden"] | shared["hidden"]}
    name = template(request) if request.headers.get("HX-Request") else "annotator/preview.html"
    return render(request, name, context, status=422 if context["errors"] else 200)


def _study(kind: HitType) -> Study:
    """A study of the type with its defaults, as far as the pages show any."""
    defaults = kind.defaults
    return Study(
        title=kind.task_title, hit_type=kind.name, slug="preview", exam_questions=defaults.exam_questions,
        pass_mark=defaults.pass_mark, pay_per_item=defaults.pay_per_item,
    )  # fmt: skip


def _payloads(kind: DeclaredHitType) -> Iterator[JSON]:
    """The items of the file, those with the most to show first: material, examples, practice, exam."""
    found = False
    for which in ("material", "examples"):
        for case in kind.declaration.get(which, ()):
            found = True
            yield kind.parse_item(case["item"]).payload
    if not found:
        payload = sample_payload(kind)
        yield from (payload,) if payload is not None else ()
    yield from _controls(kind).values()


def _controls(kind: DeclaredHitType) -> dict[str, JSON]:
    """An item in each control arm of the file, by the arm's title."""
    payload = sample_payload(kind)
    return {ARM_TITLES[arm]: kind.control(payload, arm) for arm in kind.control_arms} if payload else {}


def _prompts(kind: DeclaredHitType) -> list[tuple[str, list[Any]]]:
    own, payload = kind.with_arms(kind.control_arms), sample_payload(kind) or {}
    items = {"": payload, **{f" ({title})": control for title, control in _controls(kind).items()}}
    return [
        (f"{stage.title}{arm}", own.prompt(item, number))
        for arm, item in items.items()
        for number, stage in enumerate(own.stages(item))
    ]
