"""The contract of a kind of step: its options, its part of the plan, and how it's carried out.

A kind is one file in ``evaluation/pipelines/steps``, found by its name; an installed package adds one through an entry point
of the group ``foretell.pipeline_steps``. Kinds that ask a model derive from ``model_step.ModelStep`` or ``material.MaterialStep``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.hit_types.base import JSON
from annotator.models import Study
from evaluation.core.step_kinds import STEP_KINDS, StepKind
from evaluation.models import Endpoint, Pipeline, Report, Run
from evaluation.pipelines.endpoints import ModelAtEndpoint
from evaluation.pipelines.option_checks import Check, OptionError
from evaluation.pipelines.options import step_options

if TYPE_CHECKING:
    from django.db.models import QuerySet


@dataclass(frozen=True)
class StepInRecipe:
    """The options of a step as they are checked. ``before``: the recipe's steps before it; None for a run of its own."""

    options: JSON
    task: str
    before: Sequence[JSON] | None = None


@dataclass(frozen=True)
class StepPlan:
    """One step: at most this many calls, and at most this cost in the currency of the endpoint's prices.

    ``likely``, with its range from ``low`` to ``high``, is the cost of as many calls by earlier replies of the same model and kind
    of step; None if there are too few.
    """

    name: str
    kind: str
    calls: int = 0
    cost: Decimal = Decimal(0)
    note: str = ""
    likely: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None


@dataclass
class PlannedMaterial:
    """The most material that can exist after the steps so far; ``longest`` is the longest input in characters.

    ``explanations`` and ``follow_ups`` are counted by system, and ``items`` by study step, with the HIT type.
    """

    instances: int
    longest: int
    explanations: dict[str, int] = field(default_factory=dict)
    follow_ups: dict[str, int] = field(default_factory=dict)
    questions: int = 0
    checks: int = 0
    items: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def questions_each(self) -> int:
        """The questions of one instance."""
        return self.questions // max(self.instances, 1)


@dataclass(frozen=True)
class PlannedStep:
    """A step that is planned: ``content`` is the step in its recipe, ``options`` has models and overrides filled in."""

    content: JSON
    options: JSON
    task: str
    endpoint: Endpoint
    simulators: Sequence[ModelAtEndpoint]
    material: PlannedMaterial

    def plan(self, calls: int = 0, cost: Decimal = Decimal(0), note: str = "") -> StepPlan:
        return StepPlan(self.content["name"], self.content["kind"], calls, cost, note)

    def by_system(self, held: Mapping[str, int]) -> dict[str, int]:
        """The counts of the step's ``systems``, or of all if it names none."""
        return {name: held[name] for name in self.options.get("systems") or held if name in held}


@dataclass
class CurrentStep:
    """A step of a pipeline that is carried out; ``content`` is the step in its recipe."""

    pipeline: Pipeline
    content: JSON
    is_paused: bool = False

    @property
    def name(self) -> str:
        return str(self.content["name"])

    @cached_property
    def options(self) -> JSON:
        """The recipe's options with the pipeline's overrides, models and systems."""
        return step_options(self.pipeline, self.content)

    @property
    def study(self) -> Study:
        """The study that an earlier step made, which the option ``study`` names."""
        return Study.objects.get(slug=self.pipeline.results[self.options["study"]]["study"])

    @property
    def runs(self) -> QuerySet[Run]:
        """The step's runs in the pipeline, the latest first."""
        return self.pipeline.runs.filter(options__step=self.name).order_by("-pk")

    def wait(self) -> None:
        """The step is going on."""
        self.pipeline.state, self.pipeline.reason = Pipeline.State.RUNNING, ""

    def pause(self, reason: str) -> None:
        """Pause the pipeline until somebody resumes it."""
        self.is_paused = True
        self.pipeline.state = Pipeline.State.PAUSED
        self.pipeline.reason = f"{self.name}: {reason}"[:2000]


class PipelineStep(StepKind, ABC):
    """A kind of step. Every method may be called again after a crash, and then changes nothing that is done."""

    #: Option -> its check. Options that aren't listed are left to what the step makes.
    options: ClassVar[dict[str, Check]] = {}
    #: Options that can't be left out.
    required: ClassVar[Sequence[str]] = ()

    def check(self, step: StepInRecipe) -> None:
        """Check the options of a step; raises ``OptionError``."""
        for name, problem_of in self.options.items():
            if name in step.options and (problem := problem_of(step.options[name])):
                raise OptionError(f"{name}: {problem}")
        for name in self.required:
            if not step.options.get(name):
                raise OptionError(f"{name}: is missing")
        if self.of_study and step.options.get("study") not in {held["name"] for held in step.before or ()}:
            raise OptionError("study: names no step before this one")

    @abstractmethod
    def plan(self, step: PlannedStep) -> StepPlan:
        """The most calls and the highest cost of a step; adds what it makes to ``step.material``."""

    @abstractmethod
    def advance(self, step: CurrentStep) -> JSON | None:
        """Start a step, or check on it, with the pipeline locked. Returns its result in numbers, or None while it's going on
        or has paused the pipeline."""

    @abstractmethod
    def repeat(self, step: CurrentStep, choices: JSON) -> Run | Study | Report:
        """Do a finished step again: what exists is kept, and what is missing is asked for or added.

        ``choices`` replace options this one time. Raises ``ValidationError`` if nothing is missing, or if it takes none.
        """

    def advance_again(self, step: CurrentStep) -> JSON:
        """Advance a finished step once more and store its new result. Raises ``ValidationError`` if it pauses now."""
        with transaction.atomic():
            step.pipeline = Pipeline.objects.select_for_update(no_key=True).get(pk=step.pipeline.pk)
            result = self.advance(step)
            if result is None:
                raise ValidationError({"name": step.pipeline.reason})
            step.pipeline.results[step.name] = result
            step.pipeline.save(update_fields=["results"])
        return result


def step_kind(name: str) -> PipelineStep:
    """The kind with that name; raises ``KeyError`` with the known names."""
    return cast(PipelineStep, STEP_KINDS.get(name))
