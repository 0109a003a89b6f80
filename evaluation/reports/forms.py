"""The choices of a report as a form shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.models import Rater, Study
from evaluation.reports.choices import LABEL_SETS, RESTRICTIONS, RULES, Choices


@dataclass(frozen=True)
class ChoiceField:
    """A field: a select where it has ``options`` (value, title, chosen), a check box, or a number."""

    name: str
    label: str
    hint: str = ""
    value: str = ""
    options: Sequence[tuple[str, str, bool]] = ()
    check: bool = False
    error: str = ""
    least: int = 0


def choices_form(
    study: Study, choices: Choices | Mapping[str, Any], errors: Mapping[str, str]
) -> list[ChoiceField]:
    """The fields, filled with ``choices`` (raw values where they were refused)."""
    given = choices.to_json() if isinstance(choices, Choices) else Choices().to_json() | dict(choices)
    simulators = Rater.objects.filter(kind=Rater.Kind.SIMULATOR, runs__study=study).distinct()
    rules = RULES | {f"single:{name}": f"{name} alone" for name in simulators.values_list("name", flat=True)}
    if str(given["rule"]) not in rules:
        rules[str(given["rule"])] = str(given["rule"]).partition(":")[2] + " alone"

    def select(name: str, label: str, options: Mapping[str, str], hint: str = "") -> ChoiceField:
        listed = [(value, title, value == str(given[name])) for value, title in options.items()]
        return ChoiceField(name, label, hint, options=listed, error=errors.get(name, ""))

    def number(name: str, label: str, hint: str, least: int = 0) -> ChoiceField:
        return ChoiceField(name, label, hint, value=str(given[name]), error=errors.get(name, ""), least=least)

    return [
        select("rule", "Several raters become one label by", rules),
        select("labels", "Agreement is headed by", LABEL_SETS),
        select("restriction", "Systems are compared on", RESTRICTIONS),
        number(
            "min_overlap", "Least shared items of a pair", "Pairs with fewer are listed, not averaged.", 1
        ),
        number("replicates", "Bootstrap replicates", "0: no intervals."),
        number("seed", "Seed", "The same seed gives the same intervals."),
        ChoiceField(
            "exclusions",
            "Leave out what is excluded",
            "Raters, items and judgments that researchers have excluded, with their reasons.",
            value="true" if given["exclusions"] else "",
            check=True,
        ),
    ]
