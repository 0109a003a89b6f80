"""A study's exam and practice: its own questions, figures of each question, and exam scores against later work."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages.frame import EDITOR, VIEWER, may, render, study_page
from annotator.core.words import plural
from annotator.hit_types.base import FieldErrors, HitType, Question
from annotator.hit_types.questions import questions_of_text
from annotator.models import Study
from annotator.selectors.exam import exam_figures, exam_people, exam_versions_of, raters_quality, relations
from annotator.selectors.qualification import requirement_title
from annotator.selectors.study import study_get_for, study_hit_type
from annotator.selectors.user import user_of
from annotator.services.study import study_update

FIELDS = {"exam": "exam_own", "practice": "practice_own"}


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def exam(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the exam, an editor for the study's own questions, and the figures of the people who took it."""
    sent: dict[str, Any] = {}
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        which = request.POST.get("which", "")
        if which not in FIELDS:
            raise BadRequest("which: exam or practice")
        text = request.POST.get("questions", "")
        faults = _save(request, study, which, None if "reset" in request.POST else text)
        if faults is None:
            return redirect("admin:study_exam", study.pk)
        study.refresh_from_db()
        sent = {"which": which, "text": text, "faults": faults}
    kind = study_hit_type(study)
    versions = exam_versions_of(study)
    wanted = request.GET.get("version", "")
    version = next((one for one in versions if one.digest.startswith(wanted)), None)
    people = raters_quality(study=study)
    return render(
        request, study, "exam", tab="settings", title=f"Exam of {study.title}", status=400 if sent else 200,
        editors=[
            _editor(study, which, getattr(kind, which), sent) for which in FIELDS
        ] if may(request, study, EDITOR) and study.state != Study.State.CLOSED and not kind.external else [],
        exam=kind.exam if not kind.external else (), practice=kind.practice if not kind.external else (),
        pools=_pools(kind.exam) if not kind.external else [], requires=[requirement_title(one) for one in study.requires],
        versions=versions, version=version, people_count=exam_people(exam=version, study=study) if version else 0,
        figures=exam_figures(exam=version, study=study) if version else [], people=people,
        relations=relations(people), columns=[c for c in study_hit_type(study).columns if c.required],
    )  # fmt: skip


def _save(request: HttpRequest, study: Study, which: str, text: str | None) -> list[str] | None:
    """Store questions (None: restore the type's own). Return the errors, or None if they were stored."""
    try:
        questions = questions_of_text(study_hit_type(study), text) if text is not None else None
        own = [vars(question) for question in questions] if questions is not None else None
        before = study.snapshot_id
        saved = study_update(study=study, by=user_of(request), **{FIELDS[which]: own})
    except FieldErrors as error:
        return [
            f"{where}: {fault}" if where else f"The text {fault}." for where, fault in error.errors.items()
        ]
    except ValidationError as error:
        return list(error.messages)
    said = (
        f"Saved {plural(len(own), 'question')}."
        if own is not None
        else "The HIT type's questions have been restored."
    )
    if saved.snapshot and saved.snapshot_id != before:
        said += f" The study is live, so this is version {saved.snapshot.number}. Everyone who passed an earlier exam has to take this one."
    messages.success(request, said)
    return None


def _editor(
    study: Study, which: str, questions: tuple[Question, ...], sent: dict[str, Any]
) -> dict[str, Any]:
    mine, kind = sent.get("which") == which, study_hit_type(study)
    return {
        "which": which,
        "own": bool(getattr(study, FIELDS[which])),
        "text": sent["text"]
        if mine
        else json.dumps([vars(q) for q in questions], indent=2, ensure_ascii=False),
        "faults": sent["faults"] if mine else [],
        "open": mine,
        "count": len(questions),
        "rows": [
            (question, _shown(kind, question), kind.describe(question.payload, question.gold))
            for question in questions
        ],
    }


def _shown(kind: HitType, question: Question) -> list[tuple[str, str]]:
    """The labels and texts of what a question shows."""
    blocks = kind.question_stage(question.payload, question.gold).blocks
    return [(block.label, " · ".join([block.text, *block.items]).strip(" ·")) for block in blocks]


def _pools(questions: tuple[Question, ...]) -> list[tuple[str, int]]:
    return sorted(Counter(question.pool for question in questions).items())
