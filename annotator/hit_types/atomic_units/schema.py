"""What an item of `atomic_units` contains and what is asked about it, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    SYSTEM_COLUMNS,
    Block,
    Column,
    Field,
    Material,
    Option,
    Row,
    Shown,
    Stage,
    format_of,
    is_blank,
    stable_key,
    system_name,
)
from annotator.hit_types.base import translatable as _

DOMAINS = ("news", "medical")
PARTS = ("parse", "input", "output")
#: Whether a partial match counts as found, and what annotators read about that.
RULES: Mapping[str, str] = {
    "part": _("If the text has part of the point, it is found."),
    "whole": _("A partial match is not enough."),
}
#: P2's own readings: Figure 13 finds a detail by a part of it, Figure 8 rejects an event whose date is missing.
PAPER_RULES: Mapping[str, str] = {"news": "whole", "medical": "part"}
#: Domain -> (what the input is called, what the output is called).
NAMES: Mapping[str, tuple[str, str]] = {
    "news": (_("Article"), _("The robot's summary")),
    "medical": (_("The patient's question"), _("The robot's advice")),
}


@dataclass(frozen=True)
class Check:
    """One stage: the units of one ``role`` are compared with the explanation (``parse``), the input or the output."""

    name: str
    part: str
    role: str
    #: What the units are: points, details or suggestions.
    units: str
    title: str
    lead: str
    label: str

    @property
    def field(self) -> str:
        """The beginning of the names of its fields."""
        return "parsed" if self.part == "parse" else self.part

    @property
    def list_fields(self) -> tuple[str, str]:
        """The fields for a list as a whole: whether it is complete, and what is missing."""
        prefix = "" if self.units == "points" else f"{self.units}_"
        return f"{prefix}complete", f"{prefix}missing"


#: Domain -> its stages in order.
PLAN: Mapping[str, tuple[Check, ...]] = {
    "news": (
        Check(
            "news_parse",
            "parse",
            "both",
            "points",
            _("Check the list of points"),
            _(
                "The list was made from the explanation. Choose No if the explanation does not make the point, or says"
                " something different."
            ),
            _("Does the explanation say this?"),
        ),
        Check(
            "news_input",
            "input",
            "both",
            "points",
            _("Look for the points in the article"),
            _(
                "A point is found if the article contains something of that kind. The wording does not matter. {rule}"
            ),
            _("Is it found in the article?"),
        ),
        Check(
            "news_output",
            "output",
            "both",
            "points",
            _("Look for the points in the summary"),
            _(
                "A point is found if the summary contains something of that kind. The wording does not matter. {rule}"
            ),
            _("Is it found in the summary?"),
        ),
    ),
    "medical": (
        Check(
            "medical_details",
            "parse",
            "input",
            "details",
            _("Check the patient's details"),
            _(
                "The list should contain what the explanation says about the patient: symptoms, history, age and so on."
                " Choose No if the explanation does not make the point, says it differently, or if it is not a detail of the"
                " patient."
            ),
            _("Does the explanation say this about the patient?"),
        ),
        Check(
            "medical_input",
            "input",
            "input",
            "details",
            _("Look for the details in the question"),
            _("A detail is found if the question says it in any words, or implies it. {rule}"),
            _("Is it found in the question?"),
        ),
        Check(
            "medical_suggestions",
            "parse",
            "output",
            "suggestions",
            _("Check the suggestions"),
            _(
                "The list should contain what the explanation suggests doing. Choose No if the explanation does not make the"
                " point, says it differently, or if it is not a suggestion."
            ),
            _("Does the explanation suggest this?"),
        ),
        Check(
            "medical_output",
            "output",
            "output",
            "suggestions",
            _("Look for the suggestions in the advice"),
            _("A suggestion is found if the advice says it in any words. {rule}"),
            _("Is it found in the advice?"),
        ),
    ),
}
#: What a list is of -> the question about the list as a whole.
COMPLETE: Mapping[str, str] = {
    "points": _("Is the list of points complete?"),
    "details": _("Is the list of details complete?"),
    "suggestions": _("Is the list of suggestions complete?"),
}
#: Without details, which would be repeated beside every point; the lead explains them once.
YES_NO_OPTIONS = (Option("yes", _("Yes")), Option("no", _("No")))

COLUMNS = (
    Column(
        "domain",
        "news (one list of points) or medical (patient's details and suggestions)",
        kind="label",
        example="news",
    ),
    Column(
        "explanation", "The system's explanation", example="Begin with the main event and when it happened."
    ),
    Column(
        "units",
        "Its atomic units, as a list of texts; medical: of {role: input or output, text}",
        False,
        "list",
    ),
    Column("details", "Medical: the units about the patient, as a list", False, "list"),
    Column("suggestions", "Medical: the units about what to do, as a list", False, "list"),
    Column("input", "The counterfactual input; required if the part input is asked", example="On Monday ..."),
    Column(
        "output", "The system's output for it; required if the part output is asked", example="On Monday ..."
    ),
    Column(
        "ask",
        f"The parts to ask, as a list of {', '.join(PARTS)}; if left out, all",
        False,
        "json",
        example=list(PARTS),
    ),
    Column(
        "matching",
        "part: a point is found if part of it is there; whole: only if all of it is. Missing: as in the paper (medical: "
        "part, news: whole). Use the same for all items of a study",
        False,
        "label",
    ),
    Column("original", "The input that the explanation was written for; never shown", False),
    *SYSTEM_COLUMNS,
    Column("generator", "Who or what wrote the counterfactual input", False, example="writer-x"),
    *ITEM_COLUMNS,
)


def read_item(row: Row) -> tuple[JSON, Material]:
    """The payload and the material of an import row; errors are collected in ``row``."""
    system, model, method = system_name(row)
    domain = row.label("domain", {name: name for name in DOMAINS})
    ask = _ask(row)
    units = _units(row, domain) if domain else []
    payload: JSON = {
        "domain": domain,
        "explanation": row.text("explanation"),
        "units": units,
        "input": row.text("input", required="input" in ask),
        "output": row.text("output", required="output" in ask),
        "ask": ask,
        "matching": row.label("matching", {name: name for name in RULES}, required=False)
        or PAPER_RULES.get(domain, "whole"),
    }
    original = row.text("original", required=False)
    instance = row.text("instance", required=False, limit=200)
    instance = instance or stable_key(original or payload["explanation"])
    material = Material(
        instance_key=instance,
        # Different for every instance, because instances with equal inputs are treated as the same.
        instance_input=original or f"(the original input of {instance} is not in the file)",
        system=system,
        model=model,
        method=method,
        explanation=payload["explanation"],
        follow_up=payload["input"],
        generator=row.text("generator", required=False, limit=200),
        kind="counterfactual" if payload["input"] else "",
        real_output=payload["output"] if payload["input"] else "",
        units=tuple((unit["role"], unit["text"]) for unit in units),
    )
    return payload, material


def _ask(row: Row) -> list[str]:
    given = row.json("ask")
    if is_blank(given):
        return list(PARTS)
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list) or not given or not all(part in PARTS for part in given):
        row.errors.setdefault("ask", f"expected a list of parts from: {', '.join(PARTS)}")
        return list(PARTS)
    return [part for part in PARTS if part in given]


def _units(row: Row, domain: str) -> list[JSON]:
    """The units in order: the patient's details before the suggestions."""
    if domain == "news":
        return [{"role": "both", "text": text} for text in row.texts("units", most=30)]
    given = row.json("units")
    if is_blank(given):
        found = [("input", text) for text in row.texts("details", least=0, most=30)]
        found += [("output", text) for text in row.texts("suggestions", least=0, most=30)]
        if not found and not {"details", "suggestions"} & set(row.errors):
            row.errors["units"] = "is missing; give units, or details and suggestions"
        return [{"role": role, "text": text} for role, text in found]
    units = []
    for number, unit in enumerate(given if isinstance(given, list) else [given], 1):
        inner = Row(unit if isinstance(unit, dict) else {})
        role = inner.label("role", {"input": "input", "output": "output"})
        text = inner.text("text")
        for name, message in inner.errors.items():
            row.errors.setdefault("units", f"entry {number}: {name} {message}")
        units.append({"role": role, "text": text})
    return sorted(units, key=lambda unit: unit["role"] == "output")


def rule_of(payload: JSON) -> str:
    """The rule on partial matches that an item follows; items from before there was a choice follow *whole*.

    >>> rule_of({"matching": "part"}), rule_of({})
    ('part', 'whole')
    """
    return str(payload.get("matching") or "whole")


def numbered(payload: JSON, role: str) -> list[tuple[int, str]]:
    """(number, text) of the units with one role; units are numbered across the whole item."""
    return [(n, unit["text"]) for n, unit in enumerate(payload["units"], 1) if unit["role"] == role]


def plan_of(payload: JSON) -> list[Check]:
    """The stages that the item asks for. A list without units is still checked for what is missing."""
    return [
        check
        for check in PLAN[payload["domain"]]
        if check.part in payload["ask"] and (check.part == "parse" or numbered(payload, check.role))
    ]


def stage_of(payload: JSON, check: Check) -> Stage:
    """The text that the units are compared with, the units, and a question about each."""
    blocks = [Shown("explanation", _("The robot's explanation"), group="explanation").block(payload)]
    if check.part != "parse":
        label = NAMES[payload["domain"]][check.part == "output"]
        blocks.append(Shown(check.part, label, group=check.part).block(payload))
    fields = []
    for number, text in numbered(payload, check.role):
        block = Block(
            f"unit_{number}",
            _("Point {number}", number=number),
            text,
            group="points",
            format=format_of(payload, "units"),
        )
        blocks.append(block)
        fields.append(
            Field(
                f"{check.field}_{number}",
                check.label,
                options=YES_NO_OPTIONS,
                target=block.name,
                about=("explanation" if check.part == "parse" else check.part, block.name),
            )
        )
    if check.part == "parse":
        fields += _whole(check)
    lead = _(check.lead, rule=RULES[rule_of(payload)])
    return Stage(check.name, check.title, tuple(filter(None, blocks)), tuple(fields), lead)


def _whole(check: Check) -> list[Field]:
    complete, missing = check.list_fields
    options = (
        Option("yes", _("Yes"), _("Nothing is missing from the list.")),
        Option("no", _("No"), _("Something in the explanation belongs in the list but is missing.")),
    )
    return [
        Field(complete, COMPLETE[check.units], options=options, about=("explanation",)),
        Field(
            missing,
            _("What is missing?"),
            kind="text",
            when=((complete, ("no",)),),
            about=("explanation",),
            max_length=1_000,
        ),
    ]
