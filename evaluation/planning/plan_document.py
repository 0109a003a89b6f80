"""A study's analysis plan as a document: hypotheses about named cells of the report, and the rules by which they are tested.

Pure: the plan is read from a file or form, checked, written in one canonical form and hashed. Rows and pages are elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from annotator.core.tables.json_lines import unstorable
from evaluation.planning.plan_metrics import METRICS, PAIRED, SIMILARITIES, WATCHED

JSON = dict[str, Any]
Direction = Literal["greater", "less", "different"]
Stopping = Literal["none", "obrien_fleming", "pocock", "confidence_sequence"]

#: Who a hypothesis is about where it is about nobody in particular.
ALL = "all"
DIRECTIONS: Mapping[str, Direction] = {">": "greater", "<": "less", "!=": "different"}
SIGNS = {name: sign for sign, name in DIRECTIONS.items()}
TESTS = {
    "permutation": "permutation of the two systems within instances",
    "t": "paired t test over instances",
}
CORRECTIONS = {
    "holm": "Holm’s correction over all hypotheses",
    "bonferroni": "Bonferroni’s correction over all hypotheses",
    "none": "no correction",
}
STOPPING = {
    "none": "one analysis, when the study is complete",
    "obrien_fleming": "alpha spending, O’Brien-Fleming type",
    "pocock": "alpha spending, Pocock type",
    "confidence_sequence": "anytime-valid confidence sequence: any number of looks",
}
SPENDING = ("obrien_fleming", "pocock")
#: What a power calculation may take for granted about one hypothesis, in the order of its line.
_SPREAD = ("sd", "correlation")
#: The longest texts and lists.
LONGEST, MOST = 2_000, 50


class PlanError(ValueError):
    """What is wrong with a plan: for each field, its value and what was expected."""

    def __init__(self, errors: Mapping[str, str]):
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {text}" for name, text in self.errors.items()))


@dataclass(frozen=True)
class Hypothesis:
    """A value of the report compared with another system's (``against``) or with a number (``value``).

    ``of`` is a system, a simulator for kappa, "all", or the cell as "table | row | column". ``about`` is the variable of a mean, "variable=label"
    of a share, or the similarity of a generality. ``smallest_effect`` is the smallest difference of interest, on the scale of the value (0.05
    is 5 percentage points). ``sd`` is an assumed standard deviation, from which the power of a metric is computed whose spread nothing else
    describes, and ``correlation`` that of two ratings of one instance; neither changes the test.
    """

    name: str
    metric: str
    of: str = ALL
    direction: Direction = "greater"
    against: str = ""
    value: float | None = None
    smallest_effect: float = 0.0
    text: str = ""
    about: str = ""
    sd: float | None = None
    correlation: float | None = None

    def __str__(self) -> str:
        """One line, as forms have it; ``hypothesis_read`` reads it.

        >>> str(Hypothesis("H1", "precision", "robot-a", against="robot-b", smallest_effect=0.05))
        'H1: precision of robot-a > robot-b by 0.05'
        """
        other = self.against or f"{self.value or 0:g}"
        by = f" by {self.smallest_effect:g}" if self.smallest_effect else ""
        about = f"({self.about})" if self.about else ""
        for name in _SPREAD if by else ():
            value = getattr(self, name)
            by += "" if value is None else f" {name} {value:g}"
        return f"{self.name}: {self.metric}{about} of {self.of} {SIGNS[self.direction]} {other}{by}"

    def to_json(self) -> JSON:
        """As a plain object. What later versions added is left out where it is empty, as in plans from before."""
        added = ("about", *_SPREAD)
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in added or value not in ("", None)
        }

    @property
    def variable(self) -> str:
        """The variable that it is about; empty for the first one."""
        return self.about.partition("=")[0] if METRICS[self.metric].about != "similarity" else ""

    @property
    def cell(self) -> tuple[str, str, str]:
        """Table, row and column of a hypothesis about a cell."""
        table, row, column = self.of.split(" | ", 2)
        return table, row, column


@dataclass(frozen=True)
class Plan:
    """An analysis plan. ``options`` are choices of the report that differ from its usual ones; ``rule`` among them is the aggregation.

    ``exclusion_rules`` map a name to a rule in words: an exclusion follows it if its reason begins with the name. ``looks`` are the
    shares of the judgments at which alpha is spent, the last is 1.
    """

    hypotheses: tuple[Hypothesis, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    exclusion_rules: Mapping[str, str] = field(default_factory=dict)
    test: str = "permutation"
    correction: str = "holm"
    alpha: float = 0.05
    stopping: Stopping = "none"
    looks: tuple[float, ...] = ()
    notes: str = ""

    def to_json(self) -> JSON:
        """As a plain object, with every field."""
        return asdict(self) | {
            "hypotheses": [hypothesis.to_json() for hypothesis in self.hypotheses],
            "options": dict(self.options),
            "exclusion_rules": dict(self.exclusion_rules),
            "looks": list(self.looks),
        }


def plan_parse(raw: Any) -> Plan:
    """Check a plan from a file or form. Raises ``PlanError`` that names each wrong field, its value and what was expected.

    >>> plan_parse({"hypotheses": [{"name": "H1", "metric": "alpha", "value": 0.6}]}).hypotheses[0].value
    0.6
    >>> plan_parse({"hypotheses": [{"name": "H1", "metric": "alfa", "value": 0.6}]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    evaluation.planning.plan_document.PlanError: hypotheses[0].metric: got 'alfa'; expected one of: ...
    """
    if not isinstance(raw, Mapping):
        raise PlanError({"plan": f"got {_shown(raw)}; expected an object"})
    try:
        wrong = unstorable(raw)
    except RecursionError:
        wrong = "lists or objects that are nested too deeply"
    if wrong:
        raise PlanError({"plan": f"contains {wrong}; expected texts and numbers that can be stored"})
    read = _PlanReader()
    read.known(raw, "", Plan)
    listed = raw.get("hypotheses")
    hypotheses: list[Hypothesis] = []
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST:
        read.error("hypotheses", listed, f"a list of 1 to {MOST} hypotheses")
    else:
        hypotheses = [_hypothesis(read, one, f"hypotheses[{number}]") for number, one in enumerate(listed)]
    names = [hypothesis.name for hypothesis in hypotheses]
    for number, name in enumerate(names):
        if name and name in names[:number]:
            read.error(f"hypotheses[{number}].name", name, "a name that no other hypothesis has")
    stopping: Any = read.one_of(raw, "stopping", STOPPING, "none")
    found = Plan(
        hypotheses=tuple(hypotheses),
        options=read.mapping(raw, "options"),
        exclusion_rules=read.texts(raw, "exclusion_rules"),
        test=read.one_of(raw, "test", TESTS, "permutation"),
        correction=read.one_of(raw, "correction", CORRECTIONS, "holm"),
        alpha=read.number(raw, "alpha", 0.05, least=0.0001, most=0.5),
        stopping=stopping,
        looks=_looks(read, raw.get("looks", []), stopping),
        notes=read.text(raw, "notes", empty=True),
    )
    if found.stopping != "none":
        for number, one in enumerate(hypotheses):
            if one.metric in METRICS and one.metric not in WATCHED:
                read.error(
                    f"hypotheses[{number}].metric", one.metric,
                    f"one of: {', '.join(WATCHED)}, for which there are valid intervals under a stopping rule; or the stopping rule none",
                )  # fmt: skip
    if read.errors:
        raise PlanError(read.errors)
    return found


def hypothesis_read(line: str) -> JSON:
    """A hypothesis from one line of a form: "NAME: METRIC of WHOM > OTHER by EFFECT", with >, < or !=, and a system or number; what a
    metric is about is in brackets: "share(helpful=yes) of robot-a". "sd NUMBER" and "correlation NUMBER" may follow the effect.

    Raises ``ValueError`` where the line has another shape; ``plan_parse`` checks what it says.

    >>> hypothesis_read("H2: nsg of all > 0")["value"]
    0.0
    >>> hypothesis_read("H3: share(helpful=yes) of robot-a > 0.5")["about"]
    'helpful=yes'
    >>> hypothesis_read("H4: mean(rating) of robot-a > robot-b by 0.3 sd 1.2 correlation 0.2")["correlation"]
    0.2
    """
    name, colon, rest = line.strip().partition(": ")
    bracket, of, after = rest.partition(") of ")
    if of and "(" in bracket.partition(" of ")[0]:
        metric, _, about = bracket.partition("(")
        rest = after
    else:
        (metric, of, rest), about = rest.partition(" of "), ""
    sign = min((s for s in DIRECTIONS if f" {s} " in rest), key=lambda s: rest.index(f" {s} "), default="")
    if not colon or not of or not sign:
        raise ValueError(
            f"got {_shown(line)}; expected “NAME: METRIC of WHOM > OTHER by EFFECT”, for example “H1: precision of robot-a > robot-b by 0.05”"
        )
    whom, _, other = rest.partition(f" {sign} ")
    other, by, effect = other.rpartition(" by ") if " by " in other else (other, "", "")
    number = _number_of(other.strip())
    found: JSON = {
        "name": name.strip(),
        "metric": metric.strip(),
        "of": whom.strip(),
        "direction": DIRECTIONS[sign],
    }
    found |= {"about": about.strip()} if about else {}
    found |= {"against": other.strip()} if number is None else {"value": number}
    if by:
        size, *more = effect.split() or [""]
        if more and (len(more) % 2 or set(more[::2]) - set(_SPREAD)):
            size, more = effect.strip(), []
        for key, text in [("smallest_effect", size), *zip(more[::2], more[1::2], strict=True)]:
            read = _number_of(text)
            found[key] = text if read is None else read
    return found


def _number_of(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _hypothesis(read: _PlanReader, raw: Any, at: str) -> Hypothesis:
    if not isinstance(raw, Mapping):
        read.error(at, raw, "an object with name, metric and what it is compared with")
        return Hypothesis("", "")
    read.known(raw, at, Hypothesis)
    metric = read.one_of(raw, "metric", METRICS, "", at)
    against, value = read.text(raw, "against", at, empty=True), raw.get("value")
    if against and value is not None:
        read.error(f"{at}.value", value, "against or value, not both")
    elif against and metric in METRICS and metric not in PAIRED:
        read.error(f"{at}.against", against, f"a value: two systems can be compared in {', '.join(PAIRED)}")
    elif not against:
        value = read.number(raw, "value", None, at, least=-1e9, most=1e9)
    found = Hypothesis(
        name=read.text(raw, "name", at),
        metric=metric,
        of=read.text(raw, "of", at) if "of" in raw else ALL,
        direction=read.one_of(raw, "direction", SIGNS, "greater", at),  # type: ignore[arg-type]
        against=against,
        value=None if against else value,
        smallest_effect=read.number(raw, "smallest_effect", 0.0, at, least=0.0, most=1e9),
        text=read.text(raw, "text", at, empty=True),
        about=read.text(raw, "about", at, empty=True),
        sd=_spread(read, raw, "sd", at, most=1e9),
        correlation=_spread(read, raw, "correlation", at, most=0.99),
    )
    if metric in METRICS and (expected := _about_expected(found)):
        read.error(f"{at}.about", found.about, expected)
    for name in _SPREAD:
        if metric in METRICS and raw.get(name) is not None and not METRICS[metric].takes_spread:
            read.error(f"{at}.{name}", raw[name], f"none: {_takes_none(metric)}")
    if found.correlation is not None and found.sd is None:
        read.error(f"{at}.correlation", found.correlation, "a standard deviation with it, as sd")
    if metric == "alpha" and found.of != ALL:
        read.error(f"{at}.of", found.of, "all: agreement with a simulator is kappa")
    if metric == "cell" and found.of.count(" | ") < 2:
        read.error(f"{at}.of", found.of, "a cell as “table | row | column”")
    if against and found.of in (ALL, against):
        read.error(f"{at}.of", found.of, f"a system that is compared with {against}")
    return found


def _spread(read: _PlanReader, raw: Mapping[str, Any], name: str, at: str, *, most: float) -> float | None:
    """An assumed standard deviation or correlation; None without one."""
    if raw.get(name) is None:
        return None
    return read.number(raw, name, None, at, least=1e-9 if name == "sd" else 0.0, most=most)


def _takes_none(metric: str) -> str:
    if METRICS[metric].whom == "cell":
        return METRICS[metric].no_power
    return f"the power of {metric} is simulated from labels"


def _about_expected(one: Hypothesis) -> str:
    """What a hypothesis should be about; empty if it is about that."""
    wanted, (variable, equals, label) = METRICS[one.metric].about, one.about.partition("=")
    if wanted == "":
        return "nothing: the metric is of no variable" if one.about else ""
    if wanted == "similarity":
        return "" if one.about in ("", *SIMILARITIES) else f"one of: {', '.join(SIMILARITIES)}"
    if wanted == "label":
        return "" if variable and equals and label else "a variable and a label, as “helpful=yes”"
    if wanted == "variable" and not one.about:
        return "the name of a variable"
    return ""


def _looks(read: _PlanReader, raw: Any, stopping: str) -> tuple[float, ...]:
    if stopping not in SPENDING:
        if raw:
            read.error("looks", raw, "no looks: only alpha spending has planned ones")
        return ()
    if not isinstance(raw, list) or not raw or len(raw) > MOST or not all(map(_is_number, raw)):
        read.error("looks", raw, "shares of the judgments, such as [0.5, 1]")
        return ()
    if any(b <= a for a, b in zip([0.0, *raw], raw, strict=False)) or raw[-1] != 1:
        read.error("looks", raw, "increasing shares above 0 that end with 1")
    return tuple(float(share) for share in raw)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


class _PlanReader:
    """Reads fields of plain objects and collects what is wrong with them."""

    def __init__(self) -> None:
        self.errors: dict[str, str] = {}

    def error(self, name: str, value: Any, expected: str) -> None:
        self.errors.setdefault(name, f"got {_shown(value)}; expected {expected}")

    def known(self, raw: Mapping[str, Any], at: str, kind: type[Plan] | type[Hypothesis]) -> None:
        names = list(kind.__dataclass_fields__)
        for name in sorted(set(map(str, raw)) - set(names)):
            near = get_close_matches(name, names, n=1)
            meant = f"did you mean {near[0]}?" if near else f"expected one of: {', '.join(names)}"
            self.errors[_place(at, name)] = f"is not known; {meant}"

    def text(self, raw: Mapping[str, Any], name: str, at: str = "", *, empty: bool = False) -> str:
        value = raw.get(name, "")
        if (
            not isinstance(value, str)
            or len(value) > LONGEST
            or not (value.strip() or empty)
            or "\0" in value
        ):
            self.error(_place(at, name), value, f"a text of at most {LONGEST:,} characters")
            return ""
        return " ".join(value.split()) if name != "notes" else value.strip()

    def one_of(
        self, raw: Mapping[str, Any], name: str, known: Mapping[str, Any], usual: str, at: str = ""
    ) -> str:
        value = raw.get(name, usual)
        if not isinstance(value, str) or value not in known:
            self.error(_place(at, name), value, f"one of: {', '.join(known)}")
            return usual
        return value

    def number(
        self, raw: Mapping[str, Any], name: str, usual: Any, at: str = "", *, least: float, most: float
    ) -> Any:
        value = raw.get(name, usual)
        if not _is_number(value) or not least <= value <= most:
            self.error(_place(at, name), value, f"a number from {least:g} to {most:g}")
            return usual
        return float(value)

    def mapping(self, raw: Mapping[str, Any], name: str) -> dict[str, Any]:
        value = raw.get(name, {})
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            self.error(name, value, "an object")
            return {}
        return dict(value)

    def texts(self, raw: Mapping[str, Any], name: str) -> dict[str, str]:
        found = self.mapping(raw, name)
        if len(found) > MOST:
            self.error(name, f"{len(found):,} entries", f"at most {MOST}")
            return {}
        read: Callable[[str], str] = lambda key: self.text(found, key, name)  # noqa: E731
        return {" ".join(key.split()): read(key) for key in found}


def _place(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def planned_names(plan: Plan) -> Sequence[str]:
    """The systems that hypotheses name, in order, each once."""
    named = [
        name
        for hypothesis in plan.hypotheses
        if METRICS[hypothesis.metric].whom == "systems"
        for name in (hypothesis.of, hypothesis.against)
    ]
    return list(dict.fromkeys(name for name in named if name and name != ALL))
