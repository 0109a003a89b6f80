"""The choices of a report; together with the judgments they determine every digit.

Each choice is declared once, on the field of ``Choices``: forms, the API's schema and the commands' arguments are
made from the declaration (``specs``), and ``Choices.parse`` checks against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Any, Literal

from evaluation.core.filter_text import column_words, filter_words

RULES = {
    "majority": "Majority (ties are left out)",
    "dawid_skene": "Dawid–Skene",
    "mace": "MACE",
    "median": "Median of labels that are numbers or have an order",
    "mean": "Mean of labels that are numbers or have an order",
    "per_rater": "Each rater alone, then the mean",
}
COUNTED = {"people": "People", "rehearsal": "Rehearsal raters"}
LABEL_SETS = {"all": "All labels", "statements": "Without “cannot guess”"}
RESTRICTIONS = {"common": "Instances that all systems share", "all": "All instances"}
REFUSALS = {"wrong": "Counted as wrong predictions", "left_out": "Left out"}
GUESSES = {"wrong": "Not a right prediction", "left_out": "Left out"}
BLANKS = {"left_out": "Left out", "wrong": "Counted as wrong"}
#: By how much people may be worth more than a simulator that replaces them (Calderon, Reichart and Dror, 2025, section 3).
EPSILONS = {"0.2": "0.2 (experts)", "0.15": "0.15 (skilled people)", "0.1": "0.1 (a crowd)"}
ITEMS = {"like": "Items like these", "these": "These items alone"}
RATERS = {"these": "These raters", "like": "Raters like these"}
TIES = {"left_out": "Left out", "wrong": "Counted as wrong"}


class ChoicesError(ValueError):
    """Invalid choices, with one message per field."""

    def __init__(self, errors: Mapping[str, str]):
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {message}" for name, message in self.errors.items()))


@dataclass(frozen=True)
class ChoiceSpec:
    """How one choice is presented and checked.

    ``kind``: ``rule`` (one of ``options`` or ``single:<rater>``), ``option`` (one of ``options``), ``flag``, ``whole``
    (a whole number from ``least`` to ``most``) or ``text``. ``argument`` is its name on the command line.
    """

    name: str
    kind: Literal["rule", "option", "flag", "whole", "text"]
    label: str
    default: Any
    hint: str = ""
    argument: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    least: int = 0
    most: int = 0
    #: Added after the first reports: not in the hash of a report's inputs while it has its default.
    later: bool = False

    @property
    def option(self) -> str:
        """The command's argument: ``--min-overlap``."""
        return f"--{(self.argument or self.name).replace('_', '-')}"

    def words(self, value: Any) -> str:
        """A value as pages show it.

        >>> by_name = {spec.name: spec for spec in specs()}
        >>> by_name["exclusions"].words(True), by_name["rule"].words("single:gpt"), by_name["by"].words("")
        ('yes', 'The labels of gpt alone', 'none')
        """
        if self.kind == "flag":
            return "yes" if value else "no"
        if self.kind == "rule" and str(value).startswith("single:"):
            return f"The labels of {str(value).removeprefix('single:')} alone"
        if value in ("", None):
            return "none"
        if self.name == "only":
            return filter_words(str(value))
        return column_words(str(value)) if self.name == "by" else self.options.get(str(value), str(value))

    def parse(self, value: Any) -> Any:
        """Check a value and return it; raises ``ValueError`` with what was expected."""
        if self.kind == "flag":
            return _flag(value)
        if self.kind == "whole":
            return _whole(value, self.least, self.most)
        if value == self.default == "":
            return value
        if not isinstance(value, str) or not value or len(value) > (self.most or 200):
            raise ValueError(f"expected a text of at most {self.most or 200} characters")
        named = self.kind == "rule" and value.startswith("single:") and value != "single:"
        if self.options and value not in self.options and not named:
            allowed = [*self.options, *(["single:<rater>"] if self.kind == "rule" else [])]
            raise ValueError(f"expected one of: {', '.join(allowed)}; got {value!r}")
        return value


def _choice(default: Any, kind: str, label: str, **more: Any) -> Any:
    return field(default=default, metadata={"kind": kind, "label": label, **more})


@dataclass(frozen=True)
class Choices:
    """The choices of one report.

    ``count`` says whose judgments count besides the simulators': those of ``people`` (or of rehearsal raters if nobody
    else has judged), or of ``rehearsal`` raters. ``rule`` aggregates several raters' labels: ``majority``,
    ``dawid_skene``, ``mace``, ``median`` or ``mean`` (``majority`` for variables whose labels have no order), ``per_rater``,
    or ``single:<rater>``, which may be a simulator; with ``adjudicated``, an adjudicated label goes before that of the rule, except for
    single raters'. ``exclusions`` says whether excluded
    raters, items and judgments are left out. ``labels`` is the label set of the reported agreement. ``restriction``
    says on which instances systems are compared. ``refusals`` says whether follow-ups without an answer of the system count as wrong or are
    left out of precision; ``ties`` the same for units on which raters tie, in precision and accuracy; ``blanks`` for judgments
    without an answer, in accuracy.
    ``cannot_guess`` says what “cannot guess” counts as in what an explanation adds, where it is left out of precision anyway.
    ``epsilon`` is that of the alternative annotator test: what a person may be worth more than a simulator that replaces people.
    ``items`` says whether the intervals of precision and of prediction-powered estimates are for items like these or for these items, ``raters``
    whether those of agreement, precision, gains, shares and means are for these raters or for raters like these. ``money`` is what a next study may cost; 0: what this study's judgments did. ``by`` names an attribute that makes groups, ``only`` filters by attributes. Pairs of raters that share fewer than ``min_overlap`` units are
    listed but not averaged. ``replicates`` bootstrap replicates drawn from ``seed`` make the intervals; 0 replicates:
    no intervals. ``encoder`` embeds texts for the cosine.

    >>> Choices.parse({"replicates": "200"}).replicates
    200
    """

    count: str = _choice(
        "people", "option", "Count", options=COUNTED,
        hint="People and rehearsal raters are never counted together.",
    )  # fmt: skip
    rule: str = _choice("majority", "rule", "How several raters’ labels are combined", options=RULES)
    adjudicated: bool = _choice(
        False, "flag", "Adjudicated labels", later=True,
        hint="Where two adjudicators gave a unit the same label, it replaces the label that the rule gives. Each section says on how many units.",
    )  # fmt: skip
    labels: str = _choice("all", "option", "Agreement is reported on", options=LABEL_SETS)
    restriction: str = _choice(
        "common", "option", "Systems are compared on", options=RESTRICTIONS, argument="instances"
    )
    refusals: str = _choice(
        "wrong", "option", "Follow-ups that the system refused", options=REFUSALS,
        hint="Real outputs that are a refusal, or neither of the answers. The papers count them as wrong.",
    )  # fmt: skip
    ties: str = _choice(
        "left_out", "option", "Units on which raters tie", options=TIES,
        hint="They have no label, so precision and accuracy leave them out unless you count them as wrong.",
    )  # fmt: skip
    blanks: str = _choice(
        "left_out", "option", "Questions that a rater left blank", options=BLANKS,
        hint="For accuracy against correct labels. Judgments without a label on a question that has a correct one.",
    )  # fmt: skip
    cannot_guess: str = _choice(
        "wrong", "option", "“Cannot guess”, in what an explanation adds", options=GUESSES, later=True,
        hint="For studies with control arms: accuracy with and without the explanation.",
    )  # fmt: skip
    by: str = _choice(
        "", "text", "Groups by",
        hint="An attribute of items (condition, kind, system, a column of your own) or of raters (rater:age, rater:exam score). Numbers with more than 12 values are cut at their quartiles.",
    )  # fmt: skip
    only: str = _choice(
        "", "text", "Only", most=4_000,
        hint="A part of the study: kind=hard; rater:native=yes. Several values of one column are alternatives. Leave empty for the whole study.",
    )  # fmt: skip
    epsilon: str = _choice(
        "0.2", "option", "ε of the alternative annotator test", options=EPSILONS,
        hint="By how much a person’s labels may be worth more than those of a simulator that may replace people.",
    )  # fmt: skip
    items: str = _choice(
        "like", "option", "Intervals are about", options=ITEMS, later=True,
        hint="Prediction-powered estimates, precision, shares, means, medians, gains and utility can be for the study’s own items: narrower, with no width once every item has all the raters asked for. Each table says what its intervals are for.",
    )  # fmt: skip
    raters: str = _choice(
        "these", "option", "Intervals are for", options=RATERS, later=True,
        hint="Agreement, precision, gains, shares, means, medians and utility can be generalised to other raters of the same kind: wider, from five raters on. Other intervals are for these raters.",
    )  # fmt: skip
    money: int = _choice(
        0, "whole", "Money for the next study", most=10**9, later=True,
        hint="For the section on how many items by how many raters it buys; in judgments if nothing is paid. 0: what this study’s judgments cost.",
    )  # fmt: skip
    min_overlap: int = _choice(
        10, "whole", "Minimum shared units per pair", least=1, most=10**6,
        hint="Pairs of raters with fewer are listed, not averaged.",
    )  # fmt: skip
    replicates: int = _choice(
        1_000, "whole", "Bootstrap replicates", most=100_000, argument="bootstrap",
        hint="At least 100, or 0 for no intervals.",
    )  # fmt: skip
    seed: int = _choice(1, "whole", "Seed", most=2**32 - 1, hint="The same seed gives the same intervals.")
    encoder: str = _choice(
        "auto", "text", "Text encoder for cosine similarity",
        hint="auto (a sentence encoder if one is installed, else TF-IDF), endpoint:NAME, endpoint:NAME/MODEL, a"
        " sentence-transformers model, or tfidf. The tables' titles name the one that was used.",
    )  # fmt: skip
    exclusions: bool = _choice(
        True, "flag", "Leave out what is excluded", argument="with_excluded",
        hint="Raters, items and judgments that researchers have excluded, each with a reason.",
    )  # fmt: skip

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Choices:
        """Check raw values (a form's, the API's, a stored report's); raises ``ChoicesError`` with every error."""
        known = {spec.name: spec for spec in specs()}
        errors = dict.fromkeys(sorted(set(raw) - set(known)), "is not a choice of a report")
        values: dict[str, Any] = {}
        for name, spec in known.items():
            try:
                values[name] = spec.parse(raw.get(name, spec.default))
            except ValueError as error:
                errors[name] = str(error)
        if 0 < values.get("replicates", 0) < 100:
            errors["replicates"] = "expected 0 (no intervals) or at least 100"
        if errors:
            raise ChoicesError(errors)
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def hashed(self) -> dict[str, Any]:
        """The choices as the hash of a report's inputs has them."""
        usual = {spec.name: spec.default for spec in specs() if spec.later}
        return {
            name: value
            for name, value in self.to_json().items()
            if usual.get(name) != value or name not in usual
        }

    @property
    def rule_title(self) -> str:
        return spec_of("rule").words(self.rule)


def spec_of(name: str) -> ChoiceSpec:
    """The declaration of one choice; raises ``KeyError`` that lists the known names."""
    known = {spec.name: spec for spec in specs()}
    if name not in known:
        raise KeyError(f"no report choice {name!r}; expected one of: {', '.join(known)}")
    return known[name]


@cache
def specs() -> tuple[ChoiceSpec, ...]:
    """The declarations of all choices, in the order in which forms show them."""
    return tuple(ChoiceSpec(name=one.name, default=one.default, **one.metadata) for one in fields(Choices))


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False}
    known |= {"no": False, "": False}
    text = str(value).strip().lower()
    if text not in known:
        raise ValueError(f"expected true or false, got {text!r}")
    return known[text]


def _whole(value: Any, least: int, most: int) -> int:
    try:
        number = int(str(value))
    except ValueError:
        raise ValueError(f"expected a whole number, got {value!r}") from None
    if isinstance(value, bool) or not least <= number <= most:
        raise ValueError(f"expected a whole number from {least} to {most}, got {value!r}")
    return number
