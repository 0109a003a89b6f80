"""Compute the power of a study's plan with the study's own structure, and keep it with the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.db import transaction

from annotator.core.errors import Conflict
from annotator.models import Study
from evaluation.models import AnalysisPlan
from evaluation.planning.plan_document import PlanError, plan_parse
from evaluation.planning.plan_power import Assumed, Structure, judgments_drawn, plan_power, why_no_power
from evaluation.selectors.analysis_plan import study_design

#: The seed of every calculation: the same plan, study and assumptions give the same power.
SEED = 1
#: More judgments than this aren't simulated while somebody waits for a page.
MOST_FOR_A_PAGE = 6_000_000


def plan_power_store(
    *, study: Study, assumed: Assumed, runs: int = 0, most: int | None = None
) -> AnalysisPlan:
    """Compute the power of the plan's hypotheses and store it with its assumptions; sealed plans keep theirs beside the seal.

    Raises ``Conflict`` without a plan or without items, or if more than ``most`` judgments would be simulated; ``PlanError`` where the
    assumptions leave no room for an effect.
    """
    row = AnalysisPlan.objects.filter(study=study).first()
    if row is None:
        raise Conflict("The study has no analysis plan yet.")
    plan, structure = plan_parse(row.document), structure_of(study)
    if most is not None and judgments_drawn(plan, structure) > most:
        raise Conflict(
            f"The study is too large to simulate while you wait. On the server, “manage.py analysis_plan {study.slug} --power” does it."
        )
    try:
        rows = plan_power(plan, structure, assumed, np.random.default_rng(SEED), runs=runs)
    except ValueError as error:
        raise PlanError({"assumptions": str(error)}) from None
    found: dict[str, Any] = {
        "assumed": vars(assumed),
        "structure": vars(structure),
        "rows": [one.to_dict() for one in rows],
        "without": {one.name: why for one in plan.hypotheses if (why := why_no_power(one))},
    }
    with transaction.atomic():
        AnalysisPlan.objects.filter(pk=row.pk, document=row.document).update(power=found)
    row.refresh_from_db()
    return row


def structure_of(study: Study) -> Structure:
    """The study's structure, from its items; raises ``Conflict`` if it has none about instances."""
    design = study_design(study)
    if not design["instances"]:
        raise Conflict(
            "The study has no items yet. Import the material first: its structure gives the power."
        )
    systems = max(design["systems"], 1)
    return Structure(
        instances=design["instances"],
        follow_ups=max(round(design["items"] / (design["instances"] * systems)), 1),
        raters=study.redundancy,
        systems=systems,
        pay=float(study.pay_per_item),
        minutes=float(study.minutes_per_item or 0),
    )
