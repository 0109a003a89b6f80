"""An analysis plan as Markdown, for OSF or AsPredicted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.planning.plan_document import CORRECTIONS, STOPPING, TESTS, Hypothesis, Plan
from evaluation.planning.plan_metrics import METRICS, SIMILARITIES

_HOW = {"greater": "is greater than", "less": "is less than", "different": "differs from"}


def hypothesis_words(one: Hypothesis) -> str:
    """A hypothesis as a sentence.

    >>> hypothesis_words(Hypothesis("H1", "precision", "robot-a", against="robot-b", smallest_effect=0.05))
    'The simulation precision of robot-a is greater than that of robot-b (smallest effect of interest: 0.05).'
    >>> hypothesis_words(Hypothesis("H2", "share", "robot-a", value=0.5, about="helpful=yes"))
    'The share of the label “yes” in “helpful” of robot-a is greater than 0.5.'
    """
    kind = METRICS[one.metric]
    of = f" of {'all systems' if one.of == 'all' else one.of}"
    if kind.whom == "people":
        of = ""
    elif one.metric == "kappa":
        of = " among people" if one.of == "all" else f" between people and {one.of}"
    elif kind.whom == "raters":
        of = f" of {'people' if one.of == 'all' else one.of}"
    elif one.metric == "cell":
        of = f" “{one.of}”"
    other = f"that of {one.against}" if one.against else f"{one.value or 0:g}"
    effect = f" (smallest effect of interest: {one.smallest_effect:g})" if one.smallest_effect else ""
    return f"The {kind.words}{_about(one)}{of} {_HOW[one.direction]} {other}{effect}."


def _about(one: Hypothesis) -> str:
    kind, (variable, _, label) = METRICS[one.metric].about, one.about.partition("=")
    if kind == "label":
        return f" “{label}” in “{variable}”"
    if kind == "similarity":
        return f" ({one.about or SIMILARITIES[0]})"
    return f" of “{variable}”" if variable and kind == "variable" else f" on “{variable}”" if variable else ""


def plan_markdown(
    plan: Plan, *, title: str, design: Mapping[str, Any], digest: str = "", sealed_at: str = ""
) -> str:
    """The plan as Markdown. ``design`` has names of the study's facts (items, raters for each item) and their values.

    ``digest`` and ``sealed_at`` (UTC, ISO 8601) are empty until it is sealed. The same arguments give the same text.
    """
    sealed = f"Sealed at {sealed_at} (UTC), before the first judgment.\nSHA-256 of the plan: `{digest}`"
    parts = [f"# Analysis plan: {_line(title)}", sealed if digest else "Not sealed yet."]
    parts += [
        "## Hypotheses",
        "\n".join(
            f"- **{_line(hypothesis.name)}.** {_line(_told(hypothesis))}" for hypothesis in plan.hypotheses
        ),
    ]
    if design:
        parts += ["## Design", "\n".join(f"- {name}: {value}" for name, value in design.items())]
    options = [f"- {name}: `{value}`" for name, value in sorted(plan.options.items())]
    parts += ["## Aggregation and options of the report"]
    parts += [
        "\n".join(options) or "The report’s usual options: the majority of each unit, exclusions left out."
    ]
    rules = [f"- **{_line(name)}**: {_line(rule)}" for name, rule in plan.exclusion_rules.items()]
    parts += ["## Exclusions", "\n".join(rules) or "Nothing is excluded."]
    parts += [
        "## Test",
        f"Two systems: {TESTS[plan.test]}. One value: whether its interval contains the number. Two-sided, α = {plan.alpha:g}; "
        f"{CORRECTIONS[plan.correction]}.",
        "## Stopping",
        f"{STOPPING[plan.stopping][:1].upper()}{STOPPING[plan.stopping][1:]}." + _looks(plan),
    ]
    parts += ["## Notes", plan.notes] if plan.notes else []
    return "\n\n".join(parts) + "\n"


def _told(one: Hypothesis) -> str:
    return " ".join(filter(None, [hypothesis_words(one), spread_words(one), one.text]))


def spread_words(one: Hypothesis) -> str:
    """What the power of a hypothesis takes for granted about its own spread, as a sentence; empty if it names none.

    >>> spread_words(Hypothesis("H", "mean", value=3, sd=1.2, correlation=0.3))
    'Its power rests on an assumed standard deviation of 1.2 and a correlation of 0.3 within instances.'
    """
    if one.sd is None:
        return ""
    within = "" if one.correlation is None else f" and a correlation of {one.correlation:g} within instances"
    return f"Its power rests on an assumed standard deviation of {one.sd:g}{within}."


def _looks(plan: Plan) -> str:
    return (
        f" Looks at {', '.join(f'{share:.0%}' for share in plan.looks)} of the judgments."
        if plan.looks
        else ""
    )


def _line(text: str) -> str:
    """Text that stays one line and isn't read as Markdown."""
    return "".join(f"\\{ch}" if ch in "\\`*_[]<>#" else ch for ch in " ".join(text.split()))
