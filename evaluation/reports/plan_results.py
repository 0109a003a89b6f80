"""The planned comparisons of a study: their values, tests and valid intervals, and the section that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from annotator.core.canonical import digest_of
from annotator.models import Study
from evaluation.agreement import holm
from evaluation.core.estimate import NAN, Estimate, undefined
from evaluation.metrics import paired_difference
from evaluation.planning.plan_document import STOPPING, Hypothesis, Plan, plan_parse
from evaluation.planning.plan_metrics import METRICS, OF_UTILITY, SHARE, SIGNED
from evaluation.planning.plan_text import hypothesis_words
from evaluation.planning.sequential import valid_interval
from evaluation.reports.choices import Choices, spec_of
from evaluation.reports.columns import rule_of
from evaluation.reports.content import JSON, Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.plan_values import by_instance, limits_of, outcomes, own_value
from evaluation.reports.planned import SECTION, Ref, refs_of
from evaluation.reports.words import count
from evaluation.selectors.analysis_plan import sealed_plan
from evaluation.selectors.plan_deviations import items_completed, study_deviations

#: Metrics of one label for each unit, by the report's rule.
_LABELLED = ("precision", "simulatable", "generality", *OF_UTILITY)
#: Choices that can change a planned value.
_OPTIONS = (
    "count", "rule", "labels", "restriction", "refusals", "ties", "blanks", "cannot_guess", "by", "only", "items", "raters", "exclusions",
)  # fmt: skip


def plan_facts(ctx: Context) -> JSON | None:
    """What a report says about the study's sealed plan; None without one.

    Besides plan, design, time and hash it has the early looks, the study's deviations, and the valid interval of each hypothesis where the
    plan has a stopping rule: these need the order of judgments and the reasons of exclusions, which releases don't have.
    """
    found = sealed_plan(study=ctx.study)
    if found is None:
        return None
    plan = plan_parse(found["plan"])
    found["deviations"] = study_deviations(study=ctx.study, plan=plan, design=found["design"])
    found["valid"] = [one.to_dict() for one in valid_intervals(ctx, plan, found["design"])]
    return found


def plans_across(studies: Sequence[Study]) -> JSON | None:
    """What a report across studies says about their sealed plans: how many there are; None if there is none."""
    number = sum(sealed_plan(study=study) is not None for study in studies)
    return {"across": number} if number else None


def plan_of_facts(facts: Mapping[str, Any]) -> Plan:
    """The plan of a report's facts; raises ``ValueError`` if it isn't what was sealed."""
    sealed = {name: facts[name] for name in ("plan", "design", "sealed_at")}
    if digest_of(sealed) != facts["sha256"]:
        raise ValueError("plan: its SHA-256 isn't that of the sealed plan")
    return plan_parse(facts["plan"])


def option_deviations(plan: Plan, choices: Choices) -> list[str]:
    """A sentence for each option of the report that differs from the plan's."""
    wanted, chosen = Choices.parse(plan.options).to_json(), choices.to_json()
    return [
        f"{spec_of(name).label}: {spec_of(name).words(chosen[name])}; the plan says {spec_of(name).words(wanted[name])}."
        for name in _OPTIONS
        if wanted[name] != chosen[name]
    ]


def valid_intervals(ctx: Context, plan: Plan, design: Mapping[str, Any]) -> list[Estimate]:
    """The interval of each hypothesis under the plan's stopping rule, over instances in the order of their completion; none without a rule."""
    if plan.stopping == "none" or not len(ctx.data.judgments):
        return []
    order = _completed_instances(ctx.study, ctx)
    found = []
    for hypothesis in plan.hypotheses:
        limits = limits_of(hypothesis, METRICS[hypothesis.metric].limits or SHARE)
        values = outcomes(ctx, hypothesis, order)
        found.append(valid_interval(values, planned=int(design["instances"]), plan=plan, limits=limits))
    return found


def _completed_instances(study: Study, ctx: Context) -> list[str]:
    """The instances all of whose items are complete, in the order of completion."""
    done = items_completed(study)
    if "simulatability" in ctx.hit_type.measures:
        base = ctx.base(ctx.headline.name).base
        keys, instances = list(base.unit), list(base.instance)
    else:
        items, rows = ctx.data.judgments.items, np.flatnonzero(ctx.data.judgments.in_play)
        keys = items.key.take(rows).values("").tolist()
        instances = items.instance_names.take(rows).values("").tolist()
    last: dict[str, list[datetime | None]] = {}
    for unit, instance in zip(map(str, keys), map(str, instances), strict=True):
        last.setdefault(instance, []).append(done.get(unit))
    whole = {name: [at for at in times if at] for name, times in last.items() if all(times)}
    return sorted(whole, key=lambda name: (max(whole[name]), name))


def plan_section(ctx: Context, facts: Mapping[str, Any], sections: Sequence[Section]) -> Section:
    """The section of planned comparisons, from the report's other sections and the facts of ``plan_facts``."""
    plan = plan_of_facts(facts)
    results = [_Result(ctx, plan, hypothesis, sections) for hypothesis in plan.hypotheses]
    valid: list[Estimate | None] = [_estimate(one) for one in facts["valid"]]
    valid = valid or [None] * len(results)
    adjusted = _adjusted(plan, [result.p for result in results])
    rows = [one.row(plan, p, interval) for one, p, interval in zip(results, adjusted, valid, strict=True)]
    early = _early(plan, facts)
    deviations = [*facts["deviations"], *option_deviations(plan, ctx.choices)]
    return Section(
        id=SECTION,
        title="Planned comparisons",
        prose=[
            f"These comparisons were planned before the first judgment: the plan was sealed at {facts['sealed_at']} (SHA-256 {facts['sha256']}). "
            "Every table says which of its values were planned; all others are exploratory.",
            *early,
            *(
                [f"Deviations from the plan: {' '.join(deviations)}"]
                if deviations
                else ["Nothing deviates from the plan."]
            ),
        ],
        blocks=[_table(plan, rows)],
        notes=[f"{hypothesis.name}: {hypothesis_words(hypothesis)}" for hypothesis in plan.hypotheses],
    )


def _early(plan: Plan, facts: Mapping[str, Any]) -> list[str]:
    """A sentence on reports that were made before the study was complete."""
    if not facts["looks"]:
        return []
    at = "; ".join(f"at {done:,} of {planned:,} judgments" for done, planned in facts["looks"])
    said = f"Planned comparisons were looked at before the study was complete, {count(len(facts['looks']), 'time')}: {at}."
    if plan.stopping == "none":
        return [
            f"{said} The plan allows no early look, so p values aren’t valid if the study was stopped because of one."
        ]
    return [
        f"{said} The plan’s stopping rule ({STOPPING[plan.stopping]}) allows looks: only its intervals are valid at them."
    ]


def _estimate(raw: Mapping[str, Any]) -> Estimate:
    value, low, high = (NAN if raw[name] is None else float(raw[name]) for name in ("value", "low", "high"))
    return Estimate(value, low, high, int(raw["n"]), str(raw["reason"]), interval=str(raw["interval"]))


class _Result:
    """One hypothesis: the two values that it compares, their difference with its interval, and the p value."""

    def __init__(self, ctx: Context, plan: Plan, one: Hypothesis, sections: Sequence[Section]) -> None:
        kind = METRICS[one.metric]
        self.one, self.rule = (
            one,
            rule_of(ctx) if one.metric in _LABELLED else "per_rater" if kind.about else "",
        )
        self.shape: Any = "percent" if kind.percent else "number"
        if one.against:
            pair = paired_difference(
                by_instance(ctx, one, one.of),
                by_instance(ctx, one, one.against),
                names=(one.of, one.against),
                rng=np.random.default_rng(ctx.choices.seed),
                replicates=ctx.choices.replicates,
                bounds=kind.limits or (SIGNED if one.metric == "gain" else None),
            )
            self.first, self.second, self.difference = pair.first_mean, pair.second_mean, pair.difference
            self.p = pair.p_permutation if plan.test == "permutation" else pair.p_t
            return
        value = float(one.value or 0.0)
        self.first = own_value(ctx, one) or _cell_of(sections, refs_of(ctx, one))
        self.second = Estimate(value, n=self.first.n)
        self.difference = _less(self.first, value)
        self.p = p_of_interval(self.first, value)

    def row(self, plan: Plan, p: float, valid: Estimate | None) -> TableRow:
        one = self.one
        interval = None if valid is None else valid if one.against else _less(valid, float(one.value or 0.0))
        cells = [
            *(
                Cell.of(found, shape=self.shape, rule=self.rule)
                for found in (self.first, self.second, self.difference)
            ),
            *([Cell.of(interval, shape=self.shape, rule=self.rule)] if interval is not None else []),
            Cell.number(p, shape="p", reason=self._why_no_p(), n=self.difference.n),
            Cell(self._verdict(plan, p, interval)),
        ]
        return TableRow([one.name], cells)

    def _why_no_p(self) -> str:
        return (
            self.first.reason or "the value has no interval"
            if not self.one.against
            else "no difference that could be tested"
        )

    def _verdict(self, plan: Plan, p: float, valid: Estimate | None) -> str:
        shown = self.difference if valid is None else valid
        if not shown.defined or math.isnan(p if valid is None else valid.low):
            return "open"
        significant = p <= plan.alpha if valid is None else not valid.low <= 0 <= valid.high
        right = {"greater": shown.value > 0, "less": shown.value < 0, "different": True}[self.one.direction]
        if significant and right and abs(shown.value) < self.one.smallest_effect:
            return "supported, below the smallest effect of interest"
        return "supported" if significant and right else "the opposite" if significant else "not supported"


def p_of_interval(found: Estimate, value: float) -> float:
    """The two-sided p value of a number, from an estimate's 95 % interval; nan without one.

    The half of the interval on the number's side is taken as 1.96 standard errors: Altman and Bland (2011), BMJ 343, d2304.

    >>> round(p_of_interval(Estimate(0.7, 0.6, 0.8, n=50), 0.6), 2)
    0.05
    """
    end = found.high if value > found.value else found.low
    if not found.defined or math.isnan(end) or end == found.value:
        return NAN
    z = 1.959963984540054 * abs(found.value - value) / abs(found.value - end)
    return math.erfc(z / math.sqrt(2))


def _less(found: Estimate, value: float) -> Estimate:
    """An estimate minus a number."""
    if not found.defined:
        return found
    return Estimate(
        found.value - value, found.low - value, found.high - value, found.n, interval=found.interval
    )


def _cell_of(sections: Sequence[Section], refs: Sequence[Ref]) -> Estimate:
    """The estimate in the first cell of the report that one of the references names."""
    tables = [block for section in sections for block in section.blocks if isinstance(block, Table)]
    for ref in refs:
        for table in tables:
            if not fnmatchcase(table.id, ref.table):
                continue
            for row in table.rows:
                for column, cell in zip(table.columns, row.cells, strict=True):
                    head = {"head": list(row.head), "group": row.group}
                    if cell.estimate is not None and ref.is_in(
                        head, {"label": column.label, "group": column.group}
                    ):
                        return cell.estimate
    return undefined("the report has no such cell")


def _adjusted(plan: Plan, p_values: Sequence[float]) -> list[float]:
    if plan.correction == "holm":
        return [float(p) for p in holm(list(p_values))]
    times = len(p_values) if plan.correction == "bonferroni" else 1
    return [p if math.isnan(p) else min(1.0, p * times) for p in p_values]


def _table(plan: Plan, rows: Sequence[TableRow]) -> Table:
    corrected = "" if plan.correction == "none" else f" ({plan.correction.capitalize()})"
    valid = [TableColumn("Difference, valid at looks")] if rows and len(rows[0].cells) > 5 else []
    return Table(
        id="planned-comparisons",
        title="Planned comparisons",
        head=["Hypothesis"],
        columns=[
            TableColumn("Value"),
            TableColumn("Compared with"),
            TableColumn("Difference"),
            *valid,
            TableColumn(f"p{corrected}"),
            TableColumn("Result"),
        ],
        rows=rows,
        notes=[
            f"Two-sided, α = {plan.alpha:g}. Shares and differences of shares are in %. A comparison of two systems is over the instances "
            "where both are defined; a p value of one number is from the interval of the value.",
            *(
                ["With a stopping rule, the result is that of the interval that is valid at looks."]
                if valid
                else []
            ),
        ],
    )
