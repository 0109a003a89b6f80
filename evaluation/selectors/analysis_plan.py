"""Analysis plans of studies: the plan, what it is sealed with, and how far the study is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, Max, QuerySet

from annotator.models import Exclusion, Item, Judgment, Place, Study
from evaluation.models import AnalysisPlan, PlanJob
from evaluation.planning.plan_document import Plan, plan_parse
from evaluation.planning.plan_text import plan_markdown


@dataclass(frozen=True)
class PlanState:
    """A study's plan with what a page needs. ``plan`` is None if there is none; ``row`` then too."""

    row: AnalysisPlan | None
    plan: Plan | None
    design: dict[str, Any]
    #: Whether people have judged already: then a plan can't be sealed any more.
    judged: bool

    @property
    def sealed(self) -> bool:
        return self.row is not None and self.row.sealed_at is not None

    @property
    def markdown(self) -> str:
        if self.row is None or self.plan is None:
            return ""
        return plan_markdown(
            self.plan,
            title=str(self.design.get("study", "")),
            design={name: value for name, value in self.design.items() if name != "study"},
            digest=self.row.digest,
            sealed_at=moment_text(self.row.sealed_at),
        )

    def to_json(self) -> dict[str, Any] | None:
        """The plan as its file has it, and as the API shows it; None without one. The hash is of ``plan``, ``design`` and ``sealed_at``."""
        if self.row is None or self.plan is None:
            return None
        return {
            "plan": self.row.document,
            "design": self.design,
            "sealed_at": moment_text(self.row.sealed_at) or None,
            "sha256": self.row.digest or None,
        }


def plan_job_latest(*, study: Study, kind: str = PlanJob.Kind.POWER) -> PlanJob | None:
    """The latest calculation on the study's plan, whatever became of it."""
    return PlanJob.objects.filter(study=study, kind=kind).first()


def plan_look_latest(*, study: Study) -> PlanJob | None:
    """The latest planned comparisons so far that have been computed."""
    return PlanJob.objects.filter(study=study, kind=PlanJob.Kind.LOOK, state=PlanJob.State.DONE).first()


def plan_look_inputs(*, study: Study) -> dict[str, Any] | None:
    """What the planned comparisons so far are computed from: they are computed again when it has changed. None without a sealed plan that
    has a stopping rule."""
    row = AnalysisPlan.objects.filter(study=study, sealed_at__isnull=False).first()
    if row is None or plan_parse(row.document).stopping == "none":
        return None
    judged = people_judgments(study).aggregate(number=Count("pk"), latest=Max("pk"))
    counted = people_judgments(study).filter(standing="counted").count()
    excluded = Exclusion.objects.filter(study=study).aggregate(
        number=Count("pk"), latest=Max("pk"), lifted=Count("lifted_at")
    )
    return {"sha256": row.digest, "judged": judged, "counted": counted, "excluded": excluded}


def moment_text(at: datetime | None) -> str:
    """A moment as sealed plans have it: UTC, to the second; empty for None."""
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else ""


def plan_state(*, study: Study) -> PlanState:
    """The study's plan, sealed or not; in a constant number of queries."""
    row = AnalysisPlan.objects.filter(study=study).first()
    plan = plan_parse(row.document) if row else None
    design = row.design if row and row.sealed_at else study_design(study)
    return PlanState(row, plan, design, people_judgments(study).exists())


def sealed_plan(*, study: Study) -> dict[str, Any] | None:
    """What a report says about the study's sealed plan: as the plan's file, with the early looks. None without a sealed plan."""
    row = AnalysisPlan.objects.filter(study=study, sealed_at__isnull=False).first()
    if row is None:
        return None
    return {
        "plan": row.document,
        "design": row.design,
        "sealed_at": moment_text(row.sealed_at),
        "sha256": row.digest,
        "looks": [[look.judgments, look.planned] for look in row.looks.all()],
    }


def study_design(study: Study) -> dict[str, Any]:
    """The facts of a study that its plan is sealed with."""
    items = _ordinary(study).aggregate(items=Count("pk"), instances=Count("instance", distinct=True))
    return {
        "study": study.title,
        "task": study.hit_type,
        "items": items["items"],
        "instances": items["instances"],
        "systems": len(system_names(study)),
        "raters for each item": study.redundancy,
    }


def system_names(study: Study) -> list[str]:
    """The systems whose explanations the study's items show, sorted."""
    found = _ordinary(study).filter(explanation__isnull=False)
    return sorted(set(found.values_list("explanation__system__name", flat=True).distinct()))


def people_judgments(study: Study) -> QuerySet[Judgment]:
    """Judgments of people, imported ones among them; those of simulators and rehearsal raters aren't."""
    return Judgment.objects.filter(study=study, rater__kind="human", rater__rehearsal=False)


def study_completeness(study: Study) -> tuple[int, int]:
    """How many of people's judgments count, and how many the complete study has; a closed study is complete as it is."""
    counted = people_judgments(study).filter(
        standing="counted", item__role="ordinary", item__withdrawn_at=None
    )
    done = counted.count()
    if study.state == Study.State.CLOSED:
        return done, done
    places = Place.objects.filter(
        study=study, rehearsal=False, item__role="ordinary", item__withdrawn_at=None
    ).count()
    return done, max(places or _ordinary(study).count() * study.redundancy, 1)


def _ordinary(study: Study) -> QuerySet[Item]:
    return Item.objects.filter(study=study, role="ordinary", withdrawn_at=None)
