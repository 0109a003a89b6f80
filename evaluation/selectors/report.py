"""Reports that a researcher may see; lists leave out the large columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404

from annotator.models import Judgment, Membership, Study
from annotator.selectors.study import studies_for, study_get_for
from evaluation.models import Report, ReportFile


def reports_visible_to(user: Any) -> QuerySet[Report]:
    """Reports on studies that the researcher can all see; one hidden study hides the whole report."""
    mine = studies_for(user=user)
    if getattr(user, "is_superuser", False):
        return Report.objects.all()
    hidden = Report.others.through.objects.exclude(study_id__in=mine.values("pk")).values("report_id")
    return Report.objects.filter(study__in=mine.values("pk")).exclude(pk__in=hidden)


def report_get_for(*, user: Any, pk: int, role: str = Membership.Role.VIEWER) -> Report:
    """A report on which the researcher has this role in every study; anything else is not found."""
    reports = reports_visible_to(user).select_related("study", "created_by").prefetch_related("others")
    found = reports.filter(pk=pk).first()
    if found is None or not may_on_all(user=user, studies=found.studies, role=role):
        raise Http404("no such report")
    return found


def may_on_all(*, user: Any, studies: Sequence[Study], role: str) -> bool:
    """Whether the researcher has at least this role in all of the studies."""
    wanted = {study.pk for study in studies}
    return studies_for(user=user, role=role).filter(pk__in=wanted).distinct().count() == len(wanted)


def reports_of(*, study: Study, user: Any) -> QuerySet[Report]:
    """Reports on a study or across it that the researcher may see, newest first, without their content."""
    across = Report.others.through.objects.filter(study=study).values("report_id")
    shown = reports_visible_to(user)
    found = shown.filter(study=study) | shown.filter(pk__in=across)
    return found.select_related("created_by").prefetch_related("others").defer("content").order_by("-id")


def studies_to_join(*, study: Study, user: Any) -> QuerySet[Study]:
    """Other studies that the researcher can include in a report on this one."""
    found = studies_for(user=user, role=Membership.Role.REVIEWER).exclude(pk=study.pk)
    return found.filter(Exists(Judgment.objects.filter(study=OuterRef("pk")))).order_by("title", "pk")


def studies_named_for(*, user: Any, names: Sequence[str], role: str) -> list[Study]:
    """The studies of these ids or slugs that the researcher has this role in; a missing one is not found."""
    return [study_get_for(user=user, pk=name, role=role) for name in dict.fromkeys(names)]


def report_file_get(*, report: Report, name: str) -> ReportFile:
    """A file of a report by name; else not found."""
    found = ReportFile.objects.filter(report=report, name=name).first()
    if found is None:
        raise Http404("no such file")
    return found
