"""Compute the power of a study's plan with the study's own structure, and keep it with the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from annotator.core.errors import Conflict
from annotator.models import Study
from evaluation.models import AnalysisPlan
from evaluation.planning.plan_document import Hypothesis, PlanError, plan_parse
from evaluation.planning.plan_drawn import Assumed, Structure, correlation_of
from evaluation.planning.plan_power import Progress, plan_power, why_no_power
from evaluation.selectors.analysis_plan import study_design

#: The seed of every calculation: the same plan, study and assumptions give the same power.
SEED = 1


def plan_power_store(*, study: Study, assumed: Assumed, runs: int = 0) -> AnalysisPlan:
    """Compute the power of the plan's hypotheses here and now, and store it with its assumptions; sealed plans keep theirs beside the seal.

    Raises ``Conflict`` without a plan or without items; ``PlanError`` where the assumptions leave no room for an effect.
    """
    row = AnalysisPlan.objects.filter(study=study).first()
    if row is None:
        raise Conflict("The study has no analysis plan yet.")
    inputs = {
        "plan": row.document, "structure": vars(structure_of(study)), "assumed": vars(assumed), "runs": runs, "seed": SEED,
    }  # fmt: skip
    try:
        found = power_of(inputs)
    except ValueError as error:
        raise PlanError({"assumptions": str(error)}) from None
    power_kept(study=study, inputs=inputs, result=found)
    row.refresh_from_db()
    return row


def power_of(inputs: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """The power from a plan's document, the study's structure and the assumptions, as it is stored.

    Raises ``ValueError`` where the assumptions leave no room for an effect.
    """
    plan, structure = plan_parse(inputs["plan"]), Structure(**inputs["structure"])
    rng = np.random.default_rng(inputs["seed"])
    assumed = Assumed(**inputs["assumed"])
    rows = plan_power(plan, structure, assumed, rng, runs=inputs["runs"], progress=progress)
    return {
        "assumed": vars(assumed),
        "structure": vars(structure),
        "rows": [row.to_dict() for row in rows],
        "spread": {
            hypothesis.name: spread_told(hypothesis, assumed)
            for hypothesis in plan.hypotheses
            if hypothesis.sd is not None and not why_no_power(hypothesis)
        },
        "without": {
            hypothesis.name: why for hypothesis in plan.hypotheses if (why := why_no_power(hypothesis))
        },
    }


def spread_told(one: Hypothesis, assumed: Assumed) -> str:
    """What the power of a hypothesis with its own standard deviation is computed from, as a sentence."""
    shared = correlation_of(one, assumed)
    within = (
        "one value for each instance"
        if one.metric == "generality"
        else f"correlation {shared:g} between ratings of one instance"
    )
    return f"drawn from a normal distribution with the assumed standard deviation {one.sd:g}, {within}, nothing shared between systems"


def power_kept(*, study: Study, inputs: Mapping[str, Any], result: Any) -> None:
    """Keep a power with the study's plan, unless the plan has changed since it was asked for."""
    AnalysisPlan.objects.filter(study=study, document=inputs["plan"]).update(power=result)


def structure_of(study: Study) -> Structure:
    """The study's structure, from its items; raises ``Conflict`` if it has none about instances."""
    design = study_design(study)
    if not design["instances"]:
        raise Conflict(
            "The study has no items yet. Import the material first: its structure gives the power."
        )
    systems, arms = max(design["systems"], 1), 1 + len(study.control_arms or ())
    return Structure(
        instances=design["instances"],
        follow_ups=max(round(design["items"] / (design["instances"] * systems * arms)), 1),
        raters=study.redundancy,
        systems=systems,
        pay=float(study.pay_per_item),
        minutes=float(study.minutes_per_item or 0),
        arms=arms,
    )
