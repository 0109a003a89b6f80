"""The kinds of step that a pipeline can have, by name. Each is one file in ``evaluation/pipelines/steps``.

The registry names them as text, so that the engine, selectors and reports can look a kind up without importing pipelines.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from annotator.core.registry import Registry

Made = Literal["", "explanations", "studies", "judgments", "verdicts", "models", "reports"]


class StepKind:
    """What is known of a kind of step wherever steps are shown or counted; the whole contract is
    ``evaluation.pipelines.contract.PipelineStep``."""

    name: ClassVar[str]
    title: ClassVar[str]
    #: What it makes that other steps, pages or tables look for.
    makes: ClassVar[Made] = ""
    #: Whether it works on the study of an earlier step, which its option ``study`` names.
    of_study: ClassVar[bool] = False
    #: Whether it works on explanations of ``systems``; by default, of those that the pipeline's own come from.
    of_systems: ClassVar[bool] = False
    #: The names of its numbers on a pipeline's page, in order: for one, and for several.
    words: ClassVar[dict[str, tuple[str, ...]]] = {}


STEP_KINDS: Registry[StepKind] = Registry(
    StepKind, noun="step", package="evaluation.pipelines.steps", group="foretell.pipeline_steps"
)


def kinds_making(made: Made) -> list[str]:
    """The names of the kinds that make this.

    >>> kinds_making("judgments")
    ['simulate']
    """
    return [kind.name for kind in STEP_KINDS if kind.makes == made]
