"""Planned comparisons while a study runs, with the intervals that its stopping rule makes valid at every look."""

from __future__ import annotations

from annotator.models import Study
from evaluation.core.estimate import Estimate, undefined
from evaluation.planning.plan_document import Hypothesis, plan_parse
from evaluation.reports.choices import Choices
from evaluation.reports.compute import context_of
from evaluation.reports.plan_results import valid_intervals
from evaluation.selectors.analysis_plan import people_judgments, sealed_plan


def planned_so_far(*, study: Study) -> list[tuple[Hypothesis, Estimate]] | None:
    """Each hypothesis with its value and valid interval; None without a sealed plan that has a stopping rule.

    The plain interval of the same value is never computed here.
    """
    facts = sealed_plan(study=study)
    if facts is None:
        return None
    plan = plan_parse(facts["plan"])
    if plan.stopping == "none":
        return None
    if not people_judgments(study).exists():
        return [(hypothesis, undefined("nobody has judged yet")) for hypothesis in plan.hypotheses]
    ctx = context_of(study, Choices.parse({**plan.options, "replicates": 0}))
    found = valid_intervals(ctx, plan, facts["design"])
    why = undefined("no judgment counts")
    return list(zip(plan.hypotheses, found or [why] * len(plan.hypotheses), strict=True))
