"""Shows researchers what a questionnaire's file makes that isn't saved, within its editor. Nothing is stored."""

from __future__ import annotations

from typing import Any

from csp.decorators import csp_replace
from django.contrib.admin.views.decorators import staff_member_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST

from annotator.hit_types.base import FieldErrors
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.questionnaire import questionnaires_answers, questionnaires_read
from annotator.models import Study
from annotator.selectors.questionnaire import AFTER, BEFORE
from annotator.services.declared_file import source_text
from annotator.web.views.questionnaire import questionnaire_context
from annotator.web.views.task import raw_response


@never_cache
@require_POST
@staff_member_required(login_url="admin:login")
@csp_replace({"frame-ancestors": ["'self'"]})
@xframe_options_sameorigin
def preview_questionnaire(request: HttpRequest) -> HttpResponse:
    """The page that the file makes, with the problems of answers that were tried; or the problems of the file, each with its line."""
    raw = raw_response(request.POST)
    source, part = str(raw.pop("source", "")), raw.pop("part", BEFORE)
    moment = AFTER if part == AFTER else BEFORE
    try:
        text = source_text(source)
        parts = questionnaires_read(text)
    except DeclarationRefused as error:
        return render(request, "annotator/hit_type_problems.html", {"problems": error.problems}, status=422)
    errors: dict[str, str] = {}
    try:
        questionnaires_answers(parts, raw)
    except FieldErrors as error:
        errors = dict(error.errors)
    study = Study(title="Preview", slug="preview")
    context: dict[str, Any] = questionnaire_context(study, moment, text, raw=raw, errors=errors) | {
        "submit_url": request.path,
        "hidden": {"source": source, "part": moment},
    }
    return render(request, "annotator/questionnaire.html", context, status=422 if errors else 200)
