"""What a researcher chooses about a report; together with the judgments it fixes every digit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

RULES = {
    "majority": "Majority (ties are left out)",
    "dawid_skene": "Dawid–Skene",
    "mace": "MACE",
    "per_rater": "Each rater alone, then the mean",
}
LABEL_SETS = {"all": "All labels", "statements": "Without “cannot guess”"}
RESTRICTIONS = {"common": "Instances that all systems share", "all": "All instances"}
ENCODERS = {"tfidf": "TF-IDF"}


class ChoicesError(ValueError):
    """Choices that make no sense: one message a field."""

    def __init__(self, errors: Mapping[str, str]):
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {message}" for name, message in self.errors.items()))


@dataclass(frozen=True)
class Choices:
    """The choices of one report.

    ``rule`` aggregates several raters' labels: ``majority``, ``dawid_skene``, ``mace``, ``per_rater``, or
    ``single:<rater>``, which may be a simulator. ``exclusions`` says whether excluded raters, items and
    judgments are left out. ``labels`` is the label set that the headline agreement is computed on.
    ``restriction`` says which instances the headline comparison of systems uses. Pairs of raters that share
    fewer than ``min_overlap`` units are listed but not averaged. ``replicates`` bootstrap replicates drawn
    from ``seed`` make the intervals; 0 replicates: no intervals. ``encoder`` embeds texts for the cosine.

    >>> Choices.parse({"replicates": "200"}).replicates
    200
    """

    rule: str = "majority"
    exclusions: bool = True
    labels: str = "all"
    restriction: str = "common"
    min_overlap: int = 10
    replicates: int = 1_000
    seed: int = 1
    encoder: str = "tfidf"

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Choices:
        """Check raw values (a form's, the API's, a stored report's); raises ``ChoicesError`` for all faults."""
        errors: dict[str, str] = {}
        strange = set(raw) - {f.name for f in fields(cls)}
        if strange:
            errors |= dict.fromkeys(sorted(strange), "is not a choice of a report")
        values: dict[str, Any] = {
            "rule": _rule(raw.get("rule", cls.rule), errors),
            "exclusions": _flag(raw.get("exclusions", cls.exclusions), errors),
            "labels": _one_of("labels", raw.get("labels", cls.labels), LABEL_SETS, errors),
            "restriction": _one_of(
                "restriction", raw.get("restriction", cls.restriction), RESTRICTIONS, errors
            ),
            "min_overlap": _whole("min_overlap", raw.get("min_overlap", cls.min_overlap), 1, 10**6, errors),
            "replicates": _whole("replicates", raw.get("replicates", cls.replicates), 0, 100_000, errors),
            "seed": _whole("seed", raw.get("seed", cls.seed), 0, 2**32 - 1, errors),
            "encoder": _text("encoder", raw.get("encoder", cls.encoder), errors),
        }
        if not errors and 0 < values["replicates"] < 100:
            errors["replicates"] = "expected 0 (no intervals) or at least 100"
        if errors:
            raise ChoicesError(errors)
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def rule_title(self) -> str:
        kind, _, rater = self.rule.partition(":")
        return f"The labels of {rater} alone" if kind == "single" else RULES[self.rule]


def _rule(value: Any, errors: dict[str, str]) -> str:
    text = str(value)
    kind, _, rater = text.partition(":")
    if text not in RULES and not (kind == "single" and rater):
        errors["rule"] = f"expected one of: {', '.join(RULES)}, single:<rater>; got {text!r}"
    return text


def _flag(value: Any, errors: dict[str, str]) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False}
    text = str(value).strip().lower()
    if text not in known | {"no": False, "": False}:
        errors["exclusions"] = f"expected true or false, got {text!r}"
    return known.get(text, False)


def _one_of(name: str, value: Any, allowed: Mapping[str, str], errors: dict[str, str]) -> str:
    if value not in allowed:
        errors[name] = f"expected one of: {', '.join(allowed)}; got {value!r}"
    return str(value)


def _whole(name: str, value: Any, least: int, most: int, errors: dict[str, str]) -> int:
    try:
        number = int(str(value))
    except ValueError:
        errors[name] = f"expected a whole number, got {value!r}"
        return least
    if isinstance(value, bool) or not least <= number <= most:
        errors[name] = f"expected a whole number from {least} to {most}, got {value!r}"
    return number


def _text(name: str, value: Any, errors: dict[str, str]) -> str:
    if not isinstance(value, str) or not value or len(value) > 200:
        errors[name] = "expected a name"
    return str(value)
