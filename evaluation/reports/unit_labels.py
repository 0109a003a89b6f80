"""Atomic units of a study with one label each: the basis of P2's tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.metrics import UnitTable
from evaluation.reports.columns import rule_of
from evaluation.reports.context import Context

Labels = dict[tuple[int, str], str]
#: The method of systems whose outputs were written from the explanation itself (the sanity check).
SANITY = "from explanation"


@dataclass(frozen=True)
class Annotation:
    """Whose labels a table uses: people's with the chosen rule, or one simulator's."""

    name: str
    rule: str
    simulator: bool = False


def annotators(ctx: Context) -> list[Annotation]:
    """People first where any judged, then each simulator."""
    rule = rule_of(ctx)
    human = (~ctx.data.judgments.raters.is_simulator).any()
    found = [Annotation(ctx.people.capitalize(), rule)] if human or rule.startswith("single:") else []
    return found + [
        Annotation(name, f"single:{name}", True) for name in ctx.simulators if rule != f"single:{name}"
    ]


def labels_of(ctx: Context, variable: str, rule: str) -> Labels:
    """(item, unit) -> aggregated label, if there is one."""
    (found,) = ctx.labels(variable, rule)
    units = ctx.data.table(variable).units
    rows = zip(units.item.tolist(), units.suffix.values(""), found.value.tolist(), strict=True)
    return {(item, str(suffix)): found.labels[code] for item, suffix, code in rows if code >= 0}


def asked_of(ctx: Context, variable: str) -> set[tuple[int, str]]:
    """The (item, unit) pairs that at least one rater was asked about."""
    units = ctx.data.table(variable).units
    return {(item, str(s)) for item, s in zip(units.item.tolist(), units.suffix.values(""), strict=True)}


def unit_table(ctx: Context, rule: str) -> UnitTable:
    """One row per unit and follow-up; a unit asked about on one side only has that side's role."""
    return ctx.once(f"units/{rule}", lambda: _unit_table(ctx, rule))


def _unit_table(ctx: Context, rule: str) -> UnitTable:
    sides = {name: labels_of(ctx, name, rule) for name in ("in_input", "in_output")}
    asked = {name: asked_of(ctx, name) for name in sides}
    keys = sorted(asked["in_input"] | asked["in_output"])
    items = ctx.data.judgments.items
    item = np.array([number for number, _ in keys], dtype=np.int64)
    texts = items.follow_up_texts() if keys else np.zeros(0, dtype=object)
    columns: dict[str, Any] = {
        "unit": [unit for _, unit in keys],
        "counterfactual": items.key.take(item).values("").tolist(),
        "explanation": items.explanation_names.take(item).values("not known").tolist(),
        "instance": items.instance_names.take(item).values("not known").tolist(),
        "system": items.system.take(item).values("not known").tolist(),
        "role": [_role(key in asked["in_input"], key in asked["in_output"]) for key in keys],
        **{name: [_truth(found.get(key)) for key in keys] for name, found in sides.items()},
        "text": [str(texts[number]) for number in item],
    }
    return UnitTable(**columns)


def of_systems(units: UnitTable, systems: set[str]) -> UnitTable:
    """The rows of some systems."""
    rows = np.flatnonzero([system in systems for system in units.system])
    return UnitTable(**{field: getattr(units, field)[rows] for field in units.__dataclass_fields__})


def model_and_method(ctx: Context, system: str) -> tuple[str, str]:
    """A system's model and explanation method; its name and "not known" if the material doesn't have them."""
    model, method = ctx.data.judgments.items.systems.get(system, ("", ""))
    return model or system, method or "not known"


def is_sanity(ctx: Context, system: str) -> bool:
    """Whether a system's outputs were written from the explanation, so that precision must be 1."""
    return model_and_method(ctx, system)[1] == SANITY or system.endswith(f"· {SANITY}")


def _role(in_input: bool, in_output: bool) -> str:
    return "both" if in_input and in_output else "input" if in_input else "output"


def _truth(label: str | None) -> bool | None:
    return None if label is None else label == "yes"
