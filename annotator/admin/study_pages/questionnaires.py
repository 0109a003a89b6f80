"""What people answered in a study's questionnaires: as counts, and as a file."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from annotator.admin.study_pages.frame import VIEWER, render, study_page
from annotator.models import Study
from annotator.selectors.questionnaire import questionnaire_counts
from annotator.selectors.user import user_of
from annotator.services.questionnaire_export import questionnaires_export

TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


@study_page(VIEWER, people="questionnaires")
def questionnaires(request: HttpRequest, study: Study) -> HttpResponse:
    """How many people gave each answer, before and after the tasks."""
    return render(
        request, study, "questionnaires", tab="participants", title=f"Questionnaires of {study.title}",
        moments=questionnaire_counts(study=study),
    )  # fmt: skip


@study_page(VIEWER)
def answers(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Every answer, one row for each person and question."""
    format = request.GET.get("format", "csv")
    try:
        chunks = questionnaires_export(study=study, format=format, by=user_of(request))
    except ValidationError as error:
        return HttpResponse(" ".join(error.messages), status=400, content_type="text/plain; charset=utf-8")
    response = StreamingHttpResponse(chunks, content_type=TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-questionnaires.{format}"'
    return response
