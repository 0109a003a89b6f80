"""Reading reports: one's own only, and lists without the heavy columns."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404

from annotator.models import Study
from annotator.selectors.study import studies_for
from evaluation.models import Report, ReportFile


def report_get_for(*, user: Any, pk: int) -> Report:
    """A report on a study that the researcher may reach; anything else is not found."""
    found = Report.objects.select_related("study", "created_by").filter(pk=pk).first()
    if found is None or not studies_for(user=user).filter(pk=found.study_id).exists():
        raise Http404("no such report")
    return found


def reports_of(*, study: Study) -> QuerySet[Report]:
    """A study's reports, newest first, without their content."""
    return Report.objects.filter(study=study).select_related("created_by").defer("content").order_by("-id")


def report_file_get(*, report: Report, name: str) -> ReportFile:
    """A file of a report by name; else not found."""
    found = ReportFile.objects.filter(report=report, name=name).first()
    if found is None:
        raise Http404("no such file")
    return found
