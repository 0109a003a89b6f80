"""What a study's recruitment panel has told us: the state of its studies, and of its participants' submissions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, QuerySet

from annotator.models import Assignment, PanelEvent, Participation, Study
from annotator.recruitment.webhooks import STUDY_CHANGED


def panel_studies(study: Study) -> frozenset[str]:
    """The panel's studies that recruit for this one.

    >>> sorted(panel_studies(Study(panel_study_ids="a1, b2,")))
    ['a1', 'b2']
    """
    return frozenset(one.strip() for one in study.panel_study_ids.split(",") if one.strip())


@dataclass(frozen=True)
class PanelSummary:
    """``studies`` has the latest status of each of the panel's studies, empty if no webhook has come; ``submissions`` the
    number of participants by status. ``verified`` and ``unverified`` count participants by their link, ``elsewhere``
    those who didn't come from the panel. ``latest`` is when the last webhook came.
    """

    studies: dict[str, str]
    submissions: dict[str, int]
    verified: int
    unverified: int
    elsewhere: int
    latest: datetime | None


def panel_summary(study: Study) -> PanelSummary:
    """The summary, in four queries."""
    events = study.panel_events.order_by()
    told = events.filter(kind=STUDY_CHANGED, subject__in=panel_studies(study)).order_by(
        "subject", "-at", "-id"
    )
    people = study.participations.filter(rater__rehearsal=False).order_by()
    counts = people.aggregate(
        verified=Count("id", filter=Q(recruiter_verified=True)),
        unverified=Count("id", filter=Q(recruiter_verified=False) & ~Q(recruiter_id="")),
        elsewhere=Count("id", filter=Q(recruiter_id="")),
    )
    by_status = people.exclude(recruiter_id="").values_list("panel_status").annotate(n=Count("id"))
    known = dict(told.distinct("subject").values_list("subject", "status"))
    return PanelSummary(
        studies={panel_study: known.get(panel_study, "") for panel_study in sorted(panel_studies(study))},
        submissions=dict(by_status.order_by("panel_status")),
        latest=events.aggregate(latest=Max("received_at"))["latest"],
        **counts,
    )


def recent_events(study: Study, *, limit: int = 20) -> list[PanelEvent]:
    """The latest webhooks, with their participants."""
    return list(study.panel_events.select_related("participation__rater")[:limit])


#: How a participant came, as the page of participants filters: value -> name.
LINK_FILTERS = {"signed": "signed link", "plain": "unverified link", "none": "not from a panel"}
_LINKS = {
    "signed": Q(recruiter_verified=True),
    "plain": Q(recruiter_verified=False) & ~Q(recruiter_id=""),
    "none": Q(recruiter_id=""),
}


def participants_of(
    study: Study, *, query: str = "", status: str = "", link: str = ""
) -> QuerySet[Participation]:
    """The study's participants with their number of judgments as ``done``, newest first; rehearsal raters aren't any.

    ``query`` is part of a name, or of an id at the panel; ``link`` one of ``LINK_FILTERS``.
    """
    found = study.participations.filter(rater__rehearsal=False).select_related("rater")
    if query:
        found = found.filter(
            Q(rater__name__icontains=query)
            | Q(recruiter_id__icontains=query)
            | Q(recruiter_session__icontains=query)
        )
    if status:
        found = found.filter(panel_status=status)
    if link:
        found = found.filter(_LINKS[link])
    done = Count("assignments", filter=Q(assignments__state=Assignment.State.SUBMITTED))
    return found.annotate(done=done).order_by("-id")


def statuses_of(study: Study) -> list[str]:
    """The statuses that the panel has told us of the study's participants."""
    found = study.participations.exclude(panel_status="").order_by("panel_status")
    return list(found.values_list("panel_status", flat=True).distinct())
