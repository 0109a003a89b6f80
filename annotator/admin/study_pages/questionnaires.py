"""What people answered in a study's questionnaires, as counts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from annotator.admin.study_pages.frame import VIEWER, render, study_page
from annotator.models import Study
from annotator.selectors.questionnaire import questionnaire_counts


@study_page(VIEWER, people="questionnaires")
def questionnaires(request: HttpRequest, study: Study) -> HttpResponse:
    """How many people gave each answer, before and after the tasks."""
    return render(
        request, study, "questionnaires", tab="participants", title=f"Questionnaires of {study.title}",
        moments=questionnaire_counts(study=study),
    )  # fmt: skip
