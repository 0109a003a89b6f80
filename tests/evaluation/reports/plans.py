"""A study of two systems with a sealed plan."""

from __future__ import annotations

from typing import Any

from annotator.models import Study
from evaluation.services.analysis_plan import plan_save, plan_seal
from tests.factories import make_item, make_judgment, make_rater, make_study

H1 = {"name": "H1", "metric": "precision", "of": "robot-a", "against": "robot-b"}
H2 = {"name": "H2", "metric": "kappa", "of": "gpt", "value": 0.2}
H3 = {
    "name": "H3",
    "metric": "cell",
    "of": "p1-table-4-details | robot-b | Micro precision",
    "direction": "less",
    "value": 0.9,
}


def sealed_study(*, instances: int = 16, hypotheses: Any = (H1, H2, H3), **plan: Any) -> Study:
    """Each instance has a follow-up of each system; robot-a is always what its explanation says, robot-b in a quarter of them."""
    study = make_study(redundancy=2)
    for number in range(instances):
        for system, real in (("robot-a", "yes"), ("robot-b", "no" if number % 4 else "yes")):
            key = f"i{number:03}{system[-1]}"
            make_item(study, key=key, instance=f"x{number:03}", system=system, real_output=real)
    plan_save(study=study, document={"hypotheses": list(hypotheses)} | plan)
    plan_seal(study=study)
    return study


def judge(study: Study, *, instances: int = 16) -> None:
    """Two people and a simulator judge the first instances: the people say yes but for every eleventh item of one of them."""
    ann, bob = make_rater("ann"), make_rater("bob")
    gpt = make_rater("gpt", kind="simulator", source="simulator")
    for number, item in enumerate(study.items.order_by("key")[: 2 * instances]):
        make_judgment(item, ann, "no" if number % 11 == 3 else "yes")
        make_judgment(item, bob, "no" if number % 11 in (3, 5) else "yes")
        make_judgment(item, gpt, "no" if number % 11 == 3 else "yes")
