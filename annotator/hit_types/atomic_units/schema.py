"""What an item of `atomic_units` contains and what is asked about it, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
#: Domain -> its stages in order: (name, part, role of the units, title, what the units are).
PLAN: Mapping[str, tuple[tuple[str, str, str, str, str], ...]] = {
    "news": (
        ("news_parse", "parse", "both", _("Check the list of points"), "points"),
        ("news_input", "input", "both", _("Look for the points in the article"), "points"),
        ("news_output", "output", "both", _("Look for the points in the summary"), "points"),
    ),
    "medical": (
        ("medical_details", "parse", "input", _("Check the patient's details"), "details"),
        ("medical_input", "input", "input", _("Look for the details in the question"), "details"),
        ("medical_suggestions", "parse", "output", _("Check the suggestions"), "suggestions"),
        ("medical_output", "output", "output", _("Look for the suggestions in the advice"), "suggestions"),
    ),
}
LEADS: Mapping[str, str] = {
    "news_parse": _(
        "The list was made from the explanation. Choose No if the explanation does not say the point, or says something"
        " different."
    ),
    "news_input": _(
        "A point is found if the article contains something of that kind. The wording does not matter. {rule}"
    ),
    "news_output": _(
        "A point is found if the summary contains something of that kind. The wording does not matter. {rule}"
    ),
    "medical_details": _(
        "The list should contain what the explanation says about the patient: symptoms, history, age and so on. Choose"
        " No if the explanation does not say the point, says it differently, or if it is not a detail of the patient."
    ),
    "medical_input": _("A detail is found if the question says it in any words, or implies it. {rule}"),
    "medical_suggestions": _(
        "The list should contain what the explanation suggests doing. Choose No if the explanation does not say the"
        " point, says it differently, or if it is not a suggestion."
    ),
    "medical_output": _("A suggestion is found if the advice says it in any words. {rule}"),
}
LABELS: Mapping[str, str] = {
    "news_parse": _("Does the explanation say this?"),
    "medical_details": _("Does the explanation say this about the patient?"),
    "medical_suggestions": _("Does the explanation suggest this?"),
    "news_input": _("Is it found in the article?"),
    "news_output": _("Is it found in the summary?"),
    "medical_input": _("Is it found in the question?"),
    "medical_output": _("Is it found in the advice?"),
}
#: What a list is of -> the question about the list as a whole.
COMPLETE: Mapping[str, str] = {
    "points": _("Is the list of points complete?"),
    "details": _("Is the list of details complete?"),
    "suggestions": _("Is the list of suggestions complete?"),
}
FIELD_OF = {"parse": "parsed", "input": "input", "output": "output"}
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


def parse_row(raw: Mapping[str, Any]) -> tuple[Row, JSON, Material]:
    """Read an import row; its errors are in the returned ``Row``."""
    row = Row(raw)
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
    return row, payload, material


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


def plan_of(payload: JSON) -> list[tuple[str, str, str, str, str]]:
    """The stages that the item asks for. A list without units is still checked for what is missing."""
    return [
        step
        for step in PLAN[payload["domain"]]
        if step[1] in payload["ask"] and (step[1] == "parse" or numbered(payload, step[2]))
    ]


def whole_names(what: str) -> tuple[str, str]:
    """The fields for a list as a whole: whether it is complete, and what is missing.

    >>> whole_names("points"), whole_names("details")
    (('complete', 'missing'), ('details_complete', 'details_missing'))
    """
    return ("complete", "missing") if what == "points" else (f"{what}_complete", f"{what}_missing")


def stages_of(payload: JSON) -> tuple[Stage, ...]:
    """News: the points against explanation, article, summary. Medical: details, question, suggestions, advice."""
    return tuple(_stage(payload, *step) for step in plan_of(payload))


def _stage(payload: JSON, name: str, part: str, role: str, title: str, what: str) -> Stage:
    blocks = [
        Block(
            "explanation",
            _("The robot's explanation"),
            payload["explanation"],
            format=format_of(payload, "explanation"),
            group="explanation",
        )
    ]
    if part != "parse":
        label = NAMES[payload["domain"]][part == "output"]
        blocks.append(Block(part, label, payload[part], group=part, format=format_of(payload, part)))
    fields = []
    for number, text in numbered(payload, role):
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
                f"{FIELD_OF[part]}_{number}",
                LABELS[name],
                options=YES_NO_OPTIONS,
                target=block.name,
                about=("explanation" if part == "parse" else part, block.name),
            )
        )
    if part == "parse":
        fields += _whole(what)
    return Stage(name, title, tuple(blocks), tuple(fields), _(LEADS[name], rule=RULES[rule_of(payload)]))


def _whole(what: str) -> list[Field]:
    complete, missing = whole_names(what)
    options = (
        Option("yes", _("Yes"), _("Nothing is missing from the list.")),
        Option("no", _("No"), _("Something in the explanation belongs in the list but is missing.")),
    )
    return [
        Field(complete, COMPLETE[what], options=options, about=("explanation",)),
        Field(
            missing,
            _("What is missing?"),
            kind="text",
            when=((complete, ("no",)),),
            about=("explanation",),
            max_length=1_000,
        ),
    ]
