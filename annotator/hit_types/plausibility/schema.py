"""What an item of `plausibility` contains and what is asked about it."""

from __future__ import annotations

from dataclasses import replace

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    YES_NO,
    Block,
    Column,
    Field,
    FieldErrors,
    Material,
    Option,
    Row,
    Shown,
    Stage,
    clean_text,
    format_of,
    is_blank,
    stable_key,
)
from annotator.hit_types.base import translatable as _

MOST = 12
#: Without details, which would be repeated beside every explanation; the lead explains them once.
OPTIONS = (Option("yes", _("Yes")), Option("moderate", _("Moderate")), Option("no", _("No")))
LEAD = _(
    "Yes: it is factually correct and justifies the correct answer well. Moderate: it contains a factual error, or its"
    " reasoning has an error or a gap, but part of it is correct and helps to justify the answer. No: it does not justify"
    " the correct answer, or it is based on something false. Look up facts that you do not know."
)
RATINGS = {option.value: option.value for option in OPTIONS}


def _answer(row: Row) -> str:
    answer = row.text("answer", limit=200)
    return YES_NO.get(answer.lower(), answer)


COLUMNS = (
    Column(
        "question",
        "The question, answered with yes or no",
        example="Would a pebble sink in water?",
        material="instance_input",
    ),
    Column("answer", "Its correct answer", kind="label", example="yes", read=_answer, material="gold_label"),
    Column(
        "explanations",
        "A list of {system, explanation}; each may also have its gold: yes, moderate or no",
        kind="json",
        example=[
            {"system": "robot-a · post-hoc", "explanation": "Stone is denser than water.", "gold": "yes"}
        ],
    ),
    Column("gold_rationale", "A correct explanation of the answer; never shown", False, hidden=True),
    *ITEM_COLUMNS,
)
SHOWN = (
    Shown("question", _("Question"), group="question"),
    Shown("answer", _("Correct answer"), "answer", group="question"),
)


def read_item(row: Row, payload: JSON, material: Material) -> tuple[JSON, Material]:
    """With the explanations of a row.

    Each explanation gets a key made from its system and its text. The key does not reveal the system, and it does not
    depend on the order in the file or on the page.
    """
    explanations, parts, gold = _explanations(row, payload["question"])
    if gold and is_blank(row.raw.get("gold")):
        row.raw = {**row.raw, "gold": gold}
    return payload | {"explanations": explanations}, replace(material, parts=parts)


def _explanations(row: Row, question: str) -> tuple[list[JSON], tuple[tuple[str, str, str], ...], JSON]:
    """The explanations without their systems, the parts for the material, and the gold ratings, if given."""
    given = row.json("explanations")
    shown: list[JSON] = []
    parts: list[tuple[str, str, str]] = []
    gold: JSON = {}
    if is_blank(given) or given == []:
        row.errors.setdefault("explanations", "is missing; expected a list of {system, explanation}")
        return [], (), {}
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        row.errors.setdefault("explanations", "expected a list of {system, explanation}")
        return [], (), {}
    if len(given) > MOST:
        row.errors["explanations"] = f"at most {MOST} on one page, got {len(given)}"
    for number, one in enumerate(given, 1):
        inner = Row(one)
        system = inner.text("system", limit=200)
        text = inner.text("explanation")
        rating = inner.label("gold", RATINGS, required=False)
        for name, message in inner.errors.items():
            row.errors.setdefault("explanations", f"entry {number}: {name} {message}")
        key = stable_key(question, system, text)[:8]
        if key in [known["key"] for known in shown]:
            row.errors.setdefault(
                "explanations", f"entry {number}: the same system and explanation are given twice"
            )
        shown.append({"key": key, "text": text})
        parts.append((key, system, text))
        if rating:
            gold[field_name(key)] = rating
    return shown, tuple(parts), gold


def field_name(key: str) -> str:
    """The form field about one explanation."""
    return f"justifies_{key}"


def in_order(payload: JSON, presentation: JSON | None) -> list[JSON]:
    """The explanations in the order drawn, or in the item's own order if none was drawn."""
    explanations = {one["key"]: one for one in payload["explanations"]}
    order = (presentation or {}).get("order") or list(explanations)
    if sorted(order) != sorted(explanations):
        raise FieldErrors({"order": "does not list this item's explanations once each"})
    return [explanations[key] for key in order]


def stage_of(payload: JSON, presentation: JSON | None) -> Stage:
    """The question, its correct answer, and every explanation with its question."""
    blocks = [part.block(payload) for part in SHOWN]
    fields = []
    code = format_of(payload, "explanations") == "code"
    for number, one in enumerate(in_order(payload, presentation), 1):
        block = Block(
            f"explanation_{one['key']}",
            _("Explanation {number}", number=number),
            one["text"].rstrip() if code else clean_text(one["text"]),
            group="explanations",
            format=format_of(payload, "explanations"),
        )
        blocks.append(block)
        fields.append(
            Field(
                field_name(one["key"]),
                _("Does it justify the correct answer?"),
                options=OPTIONS,
                target=block.name,
                about=("question", "answer", block.name),
            )
        )
    title = _("Does each explanation justify the correct answer?")
    return Stage("plausibility", title, tuple(filter(None, blocks)), tuple(fields), LEAD)
