"""Releases that a researcher may see, and the attributes of raters that a release can contain."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404

from annotator.models import Membership
from evaluation.models import Release, ReleaseText, Report
from evaluation.selectors.attributes import study_attributes
from evaluation.selectors.report import report_get_for


def releases_of(*, report: Report) -> QuerySet[Release]:
    """The releases of a report that the researcher may see, newest first."""
    return Release.objects.filter(report=report).select_related("created_by")


def release_get_for(*, user: Any, pk: int, role: str = Membership.Role.VIEWER) -> Release:
    """A release of a report in all of whose studies the researcher has this role; anything else is not found."""
    found = Release.objects.select_related("created_by").filter(pk=pk).first()
    if found is None:
        raise Http404("no such release")
    found.report = report_get_for(user=user, pk=found.report_id, role=role)
    return found


def texts_waiting(*, release: Release) -> QuerySet[ReleaseText]:
    """The free texts of a release that have no decision yet, by place."""
    return release.texts.filter(decision=ReleaseText.Decision.PENDING).order_by("place", "pk")


#: How the names of raters' attributes start, and the one that is computed.
_RATER, _EXAM_SCORE = "rater:", "rater:exam score"
#: With this many values that all differ, an attribute is an id.
IDS_FROM = 5


def attributes_of(report: Report) -> list[str]:
    """The attributes of raters that a release can contain: not the exam score, which has a table of its own, and none whose
    values are ids, one for each rater."""
    found = study_attributes(studies=report.studies)
    return sorted(
        one.name.removeprefix(_RATER)
        for one in found
        if one.of == "raters"
        and one.name != _EXAM_SCORE
        and not (one.distinct >= IDS_FROM and one.values[0].count == 1)
    )
