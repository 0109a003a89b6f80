"""Pipelines: access to them, and the progress of each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db.models import BooleanField, F, Func, JSONField, QuerySet, Value
from django.http import Http404

from annotator.models import Membership, Study
from annotator.selectors.workspace import log, owned_by
from evaluation.core.step_kinds import STEP_KINDS
from evaluation.models import FineTuning, Pipeline, Recipe, Run
from evaluation.selectors.run import RunProgress, run_progress


@dataclass(frozen=True)
class StepShown:
    """One step of a pipeline: done, current, or to come; ``numbers`` is (how many, of what)."""

    name: str
    kind: str
    state: str
    run: Run | None = None
    #: All its runs, oldest first: one for each simulator, for example. ``run`` is the latest.
    runs: tuple[Run, ...] = ()
    progress: RunProgress | None = None
    numbers: list[tuple[Any, str]] = field(default_factory=list)
    spent: str = ""
    left_out: str = ""
    note: str = ""
    study: Study | None = None
    report: int | None = None
    tuning: FineTuning | None = None

    @property
    def has_failures(self) -> bool:
        """Whether calls of the step have failed, or replies could not be read."""
        return any(word in ("failed", "unparsable") for _, word in self.numbers)

    @property
    def percent(self) -> int:
        return int(self.progress.share * 100) if self.progress else 0


def pipelines_for(*, user: Any, role: str = Membership.Role.VIEWER) -> QuerySet[Pipeline]:
    """Pipelines on datasets of the workspaces in which the researcher has at least this role."""
    found = Pipeline.objects.select_related("recipe", "dataset", "endpoint", "study", "created_by")
    return found.filter(owned_by(user=user, role=role, path="dataset__workspace", maker="created_by"))


def pipeline_get_for(*, user: Any, pk: int, role: str = Membership.Role.VIEWER) -> Pipeline:
    """One of ``pipelines_for``; raises ``Http404`` for any other, and logs it."""
    found = pipelines_for(user=user, role=role).filter(pk=pk).first()
    if found is None:
        log.warning("pipeline %s: access denied to user %s as %s", pk, user.pk, role)
        raise Http404("no such pipeline")
    return found


def recipes_for(*, user: Any, role: str = Membership.Role.VIEWER) -> QuerySet[Recipe]:
    """Saved recipes of the workspaces in which the researcher has at least this role."""
    return Recipe.objects.filter(owned_by(user=user, role=role, maker="created_by"))


def pipeline_steps(pipeline: Pipeline) -> list[StepShown]:
    """The steps of a pipeline in order, in a fixed number of queries, apart from the current step's."""
    runs: dict[str, list[Run]] = {}
    for run in pipeline.runs.order_by("pk"):
        runs.setdefault(str(run.options.get("step", "")), []).append(run)
    slugs = [result["study"] for result in pipeline.results.values() if "study" in result]
    owned = Study.objects.filter(slug__in=slugs, workspace=pipeline.dataset.workspace_id)
    studies = {study.slug: study for study in owned}
    tunings = {tuning.step: tuning for tuning in pipeline.tunings.all() if tuning.replaced_at is None}
    shown = []
    for number, step in enumerate(pipeline.recipe.content["steps"]):
        name, kind = step["name"], step["kind"]
        own, result = runs.get(name, []), pipeline.results.get(name)
        latest = own[-1] if own else None
        if result is None:
            current = number == pipeline.step
            about: dict[str, Any] = {
                "state": "current" if current else "to come",
                "progress": run_progress(latest) if current and latest else None,
            }
        else:
            words = STEP_KINDS.get(kind).words
            about = {
                "state": "done",
                "numbers": [
                    (result[key], words[key][0 if result[key] == 1 else -1])
                    for key in words
                    if result.get(key)
                ],
                "left_out": result.get("left_out", ""),
                "note": result.get("note", ""),
                "spent": result.get("spent", ""),
                "study": studies.get(result.get("study", "")),
                "report": result.get("report"),
            }
        shown.append(StepShown(name, kind, run=latest, runs=tuple(own), tuning=tunings.get(name), **about))
    return shown


@dataclass(frozen=True)
class StepDone:
    """The result of a finished step, for a report on a study that the pipeline made."""

    name: str
    kind: str
    calls: int
    failed: int
    unparsable: int
    duplicates: int
    left_out: str


class _Made(Func):
    """Whether a step's result in ``results`` (the first argument) names the study, as ``{"slug": …}`` (the second)."""

    template = "jsonb_path_exists(path => '$.*.study ? (@ == $slug)', target => %(expressions)s)"
    arg_joiner = ", vars => "


def pipeline_behind(*, study: Study) -> tuple[Pipeline, list[StepDone]] | None:
    """The latest pipeline that made a study, with its finished steps, in one query; None for a study that no pipeline
    made. A pipeline makes studies of its dataset's workspace only.
    """
    slug = Value({"slug": study.slug}, output_field=JSONField())
    made = _Made(F("results"), slug, output_field=BooleanField())
    pipeline = (
        Pipeline.objects.select_related("recipe")
        .filter(made, dataset__workspace=study.workspace_id)
        .order_by("-pk")
        .first()
    )
    if pipeline is None:
        return None
    kinds = {step["name"]: step["kind"] for step in pipeline.recipe.content["steps"]}
    return pipeline, [
        StepDone(
            name=name,
            kind=kinds.get(name, ""),
            calls=result.get("calls", 0),
            failed=result.get("failed", 0),
            unparsable=result.get("unparsable", 0),
            duplicates=result.get("duplicates", 0) + result.get("duplicates_of_others", 0),
            left_out=result.get("left_out", ""),
        )
        for name, result in pipeline.results.items()
    ]
