"""What a study's panel should be asked for: title, pay, minutes, places and codes, made from the study as it is now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Decimal
from math import ceil
from typing import Any

from django.db.models import Count, Q
from django.utils.html import strip_tags

from annotator.models import Assignment, PanelLinks, PanelStudy, Participation, Place, Qualification, Study
from annotator.recruitment.api import APPROVE, ASK_RETURN, DRAFT, ENDED, REVIEW, SCREEN_OUT, StudyPlan
from annotator.recruitment.panel import COMPLETED, SCREENED_OUT, CompletionCode, Panel
from annotator.recruitment.plans import plan_read
from annotator.selectors.budget import cap_reached
from annotator.selectors.panel import panel_studies
from annotator.selectors.qualification import holders_of, requirement_choices
from annotator.selectors.workload import places_out_of_reach, study_workload

#: What the panel does by default when somebody enters a code, by the study's field.
USUAL = {
    "completion_code": REVIEW, "screened_out_code": REVIEW, "partly_code": REVIEW, "nothing_left_code": ASK_RETURN,
    "declined_code": ASK_RETURN, "stopped_code": ASK_RETURN,
}  # fmt: skip
#: Statuses of submissions that take no place at the panel, and those at which people are at work.
NO_PLACE = ("RETURNED", "TIMED OUT")
AT_WORK = ("", "ACTIVE", "RESERVED")


@dataclass(frozen=True)
class Needed:
    """``free`` places of the study are taken by nobody, ``leased`` ones are being worked on, ``at_work`` people from the panel may
    take more, and ``people`` more are needed at least, of ``whole`` for the study before anything was done."""

    free: int
    leased: int
    at_work: int
    people: int
    whole: int = 0

    @property
    def complete(self) -> bool:
        """Whether every place has been answered."""
        return not self.free and not self.leased


def people_needed(study: Study, *, only_there: int = 0) -> Needed:
    """How many more people the study takes, beside those who are at work. ``only_there`` is the number of people who have started at
    the panel and aren't here yet. Before the launch, everybody is needed; once the study's cap is reached, nobody."""
    work = study_workload(study)
    if study.snapshot_id is None:
        return Needed(work.places, 0, 0, work.people, work.people)
    places = Place.objects.filter(study=study, rehearsal=False, item__withdrawn_at__isnull=True)
    counted = places.aggregate(
        free=Count("id", filter=Q(assignment__isnull=True)),
        leased=Count("id", filter=Q(assignment__state=Assignment.State.LEASED)),
    )
    taken = Q(assignments__state__in=[Assignment.State.LEASED, Assignment.State.SUBMITTED])
    people = (
        Participation.objects.filter(
            study=study, state=Participation.State.ACTIVE, finished_at__isnull=True, rater__rehearsal=False,
            panel_status__in=AT_WORK,
        ).exclude(recruiter_id="").annotate(done=Count("assignments", filter=taken)).values_list("done", flat=True)
    )  # fmt: skip
    left = [work.tasks_each - done for done in people if done < work.tasks_each]
    promised = sum(left) + only_there * work.tasks_each
    free = counted["free"]
    if free and cap_reached(study):
        return Needed(free, counted["leased"], len(left) + only_there, 0, work.people)
    needed = ceil(max(0, free - promised) / work.tasks_each) if work.tasks_each else 0
    if free and not only_there:
        needed = max(needed, places_out_of_reach(study, work).people)
    return Needed(free, counted["leased"], len(left) + only_there, needed, work.people)


def places_taken(counts: Mapping[str, int]) -> int:
    """The places that submissions take at the panel, by their number in each status.

    >>> places_taken({"ACTIVE": 2, "RETURNED": 1, "REJECTED": 1})
    3
    """
    return sum(number for status, number in counts.items() if status not in NO_PLACE)


def places_wanted(row: PanelStudy, needed: Needed) -> int:
    """How many places the panel's study should have: those that are taken, and one for each person who is still needed.

    A study that has ended there begins again only with more places than it has, even if some of them are free.
    """
    there, wanted = int(row.remote.get("places") or 0), places_taken(row.counts) + needed.people
    if row.state != ENDED:
        return wanted
    return max(wanted, there + 1) if needed.people else there


def draft_places(chosen: int, needed: Needed) -> int:
    """The places of a draft at the panel: as many as were ``chosen``, and fewer once work was done that these people would have done.
    After its publication the panel lets nobody lower them.

    >>> draft_places(50, Needed(free=100, leased=0, at_work=0, people=40, whole=40)), draft_places(50, Needed(25, 0, 0, 10, 40))
    (50, 10)
    """
    return min(chosen, max(1, needed.people)) if needed.people < needed.whole else chosen


def plan_values(study: Study, panel: Panel) -> dict[str, Any]:
    """The values that the form for a new study at the panel begins with."""
    work = study_workload(study)
    values: dict[str, Any] = {
        "title": study.title[:120],
        "description": strip_tags(study.summary or ""),
        "minutes": max(1, ceil(work.minutes)),
        "reward": work.earns.quantize(Decimal("0.01"), ROUND_UP),
        "places": max(1, people_needed(study).people),
        "devices": list(panel.devices),
        "keep_out": False,
    }
    return values | {f"action_{code.field}": USUAL[code.field] for code in codes_of(study, panel)}


def codes_of(study: Study, panel: Panel) -> list[CompletionCode]:
    """The exits for which the study has a code that the panel takes."""
    return [
        code for code in panel.codes
        if getattr(study, code.field) and (code is not SCREENED_OUT or study.exam_required)
    ]  # fmt: skip


def actions_of(code: CompletionCode) -> tuple[str, ...]:
    """What the panel can be asked to do for an exit. Only people who have done everything are approved at once, and they aren't asked
    to return their submission."""
    return (REVIEW, APPROVE) if code is COMPLETED else (REVIEW, ASK_RETURN, SCREEN_OUT)


def plan_now(row: PanelStudy, *, link: str, needed: Needed) -> StudyPlan | None:
    """The plan of a panel's study with what has changed here since: link, whether it's signed, codes and places. None for a study
    that was created at the panel, of which we know no plan."""
    if not row.plan:
        return None
    plan, study = plan_read(row.plan), row.study
    codes = tuple(
        replace(code, code=getattr(study, code.field)) for code in plan.codes if getattr(study, code.field)
    )
    places = places_wanted(row, needed) if row.state != DRAFT else draft_places(plan.places, needed)
    return replace(plan, url=link, secured=study.panel_links == PanelLinks.SIGNED, codes=codes, places=places)


def other_studies(study: Study) -> list[str]:
    """The ids at the panel of the workspace's other studies, for keeping their participants out."""
    others = Study.objects.filter(workspace=study.workspace_id, panel=study.panel).exclude(pk=study.pk)
    return sorted(
        {panel_study for other in others.only("panel_study_ids") for panel_study in panel_studies(other)}
    )


def group_people(study: Study, requirement: str) -> list[str]:
    """The panel's ids of the people who hold a qualification in the study's workspace."""
    raters = holders_of(requirement, workspace_id=study.workspace_id)
    found = Participation.objects.filter(
        study__workspace=study.workspace_id, recruiter=study.panel, rater__in=raters, recruiter_verified=True
    ).exclude(recruiter_id="")
    return sorted(set(found.values_list("recruiter_id", flat=True)))


def group_choices(study: Study) -> list[tuple[str, str]]:
    """The qualifications that somebody in the workspace holds."""
    held = set(
        Qualification.objects.filter(workspace=study.workspace_id, revoked_at__isnull=True).values_list(
            "hit_type", flat=True
        )
    )
    return [
        (name, title) for name, title in requirement_choices(workspace_id=study.workspace_id)
        if name.partition("@")[0] in held
    ]  # fmt: skip
