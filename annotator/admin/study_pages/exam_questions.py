"""Exam and practice questions of a study, written in a form or imported from a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages.frame import EDITOR, render, study_page
from annotator.core.csv_cells import cell_neutral
from annotator.core.words import plural
from annotator.forms.questions import SEVERAL, QuestionForm, QuestionsFileForm
from annotator.hit_types.base import JSON, FieldErrors, Question
from annotator.hit_types.confidence import without_confidence
from annotator.hit_types.questions import read_questions
from annotator.models import Study
from annotator.selectors.study import study_hit_type
from annotator.selectors.user import user_of
from annotator.services.study import study_update

FIELDS = {"exam": "exam_own", "practice": "practice_own"}


@study_page(EDITOR, methods=("GET", "HEAD", "POST"))
def question(request: HttpRequest, study: Study, which: str, key: str = "") -> HttpResponse:
    """Edit or delete one question; without a ``key``, write a new one."""
    current = _questions(study, which)
    place = next((number for number, one in enumerate(current) if one.key == key), None)
    if key and place is None:
        raise Http404("no such question")
    start = current[place] if place is not None else _pattern(study, which, current)
    kind = study_hit_type(study)
    form = QuestionForm(request.POST or None, kind=kind, start=start, new=place is None)
    if request.method == "POST" and place is not None and "delete" in request.POST:
        if _store(request, study, which, [vars(one) for one in current if one.key != key], form):
            messages.success(request, f"Question {key} deleted.")
            return redirect("admin:study_exam", study.pk)
    elif request.method == "POST" and form.is_valid():
        written = [vars(one) for one in current]
        if place is None:
            written.append(form.question())
        else:
            written[place] = form.question()
        if _store(request, study, which, written, form):
            messages.success(request, f"Question {form.cleaned_data['key']} saved.")
            return redirect("admin:study_exam", study.pk)
    return render(
        request, study, "exam_question", tab="settings", title=f"{which.capitalize()} question {key}".strip(), form=form,
        which=which, key=key, status=400 if form.errors else 200,
    )  # fmt: skip


def _questions(study: Study, which: str) -> tuple[Question, ...]:
    if which not in FIELDS or study_hit_type(study).external:
        raise Http404("no such questions")
    found: tuple[Question, ...] = getattr(study_hit_type(study), which)
    return found


def _pattern(study: Study, which: str, current: Sequence[Question]) -> Question:
    """The question whose fields a new one starts with."""
    kind = study_hit_type(study)
    for questions in (current, kind.exam, kind.practice):
        if questions:
            return questions[0]
    raise Http404("this HIT type has no questions to start from")


def _store(request: HttpRequest, study: Study, which: str, written: list[JSON], form: Any) -> bool:
    """Check and save the whole list. If it has errors, show them at the form and return False."""
    try:
        read_questions(study_hit_type(study), written)
        study_update(study=study, by=user_of(request), **{FIELDS[which]: written})
    except FieldErrors as error:
        form.add_faults(error.errors)
        return False
    except ValidationError as error:
        form.add_error(None, error.messages)
        return False
    return True


@study_page(EDITOR, methods=("GET", "HEAD", "POST"))
def questions_file(request: HttpRequest, study: Study, which: str) -> HttpResponse:
    """Replace the questions with those of a CSV file, or add them; every error is listed with its row."""
    current = _questions(study, which)
    form = QuestionsFileForm(request.POST or None, request.FILES or None)
    faults: list[str] = []
    if request.method == "POST" and form.is_valid():
        read = form.cleaned_data["file"]
        written = ([vars(one) for one in current] if "add" in request.POST else []) + read
        try:
            checked = read_questions(study_hit_type(study), written)
            study_update(study=study, by=user_of(request), **{FIELDS[which]: [vars(one) for one in checked]})
        except FieldErrors as error:
            faults = [f"{where}: {text}" if where else text for where, text in error.errors.items()]
        except ValidationError as error:
            faults = list(error.messages)
        else:
            messages.success(request, f"{plural(len(read), 'question')} imported.")
            return redirect("admin:study_exam", study.pk)
    return render(
        request, study, "exam_file", tab="settings", title=f"Import {which} questions", form=form, which=which,
        faults=faults, several=SEVERAL, columns=_columns(study), status=400 if faults or form.errors else 200,
    )  # fmt: skip


def _columns(study: Study) -> list[str]:
    kind = study_hit_type(study)
    start = next(iter(kind.exam or kind.practice), None)
    asked = (
        [
            f"gold.{field.name}"
            for stage in without_confidence(kind).every_stage(start.payload)
            for field in stage.fields
        ]
        if start
        else []
    )
    needed = [column.name for column in kind.columns if column.required and column.name not in ("key",)]
    return ["key", *needed, *dict.fromkeys(asked), "reason", "pool"]


@study_page(EDITOR)
def questions_sample(request: HttpRequest, study: Study, which: str) -> HttpResponse:
    """A CSV file with the columns of a question and those of the study's questions that fit into rows."""
    current = _questions(study, which)
    names = _columns(study)
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(names)
    for one in current[:50]:
        cells: dict[str, Any] = {"key": one.key, "reason": one.reason, "pool": one.pool} | one.payload
        cells |= {
            f"gold.{name}": SEVERAL.join(v) if isinstance(v, list) else v for name, v in one.gold.items()
        }
        writer.writerow(
            [cell_neutral(cells[name]) if isinstance(cells.get(name), str) else "" for name in names]
        )
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{which}.csv"'
    return response
