"""From a checked file to a HIT type: its class, texts, questions and prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from annotator.core.canonical import text_digest
from annotator.hit_types.arms import ARM_TITLES
from annotator.hit_types.declaration.arms import arm_stage
from annotator.hit_types.declaration.asking import DeclaredQuestion
from annotator.hit_types.declaration.items import columns_of, formats_of
from annotator.hit_types.declaration.kinds import question_of
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.prompting import material_text, prompt_draft
from annotator.hit_types.declaration.texts import texts_marked
from annotator.hit_types.images import images_in_words
from annotator.hit_types.prompting import prompt_part
from annotator.hit_types.shapes import JSON, Defaults, FieldErrors, Question, Variable

EXAMPLES_HEADING = "## Worked examples"


def hit_type_made(spec: Mapping[str, Any]) -> DeclaredHitType:
    """The type that a file declares, without its examples, practice, exam and prompt; the file has the form of the format, and
    its names refer to what there is."""
    spec = texts_marked(spec)
    questions = [
        question_of(name, one)
        for stage in spec["stages"].values()
        for name, one in stage["questions"].items()
    ]
    variables = _variables(spec, {one.name: one for one in questions})
    attributes: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": spec["title"],
        "name": spec["name"],
        "version": version_of(spec),
        "title": spec["title"],
        "task_title": spec["task"],
        "source": spec["source"],
        "asks": spec.get("asks", "Something else"),
        "people": spec.get("people", ""),
        "measures": frozenset(spec.get("measures", ())),
        "defaults": _defaults(spec.get("defaults", {})),
        "columns": columns_of(spec),
        "written": formats_of(spec),
        "undescribed": tuple(n for n, one in spec["columns"].items() if not one.get("described", True)),
        "variables": tuple(variable for variable, _, _ in variables),
        "measured": tuple(variables),
        "headline": spec.get("headline") or next((v.name for v, _, _ in variables if not v.structured), ""),
        "most_stages": len(spec["stages"]),
        "ratings_need_item": any(one.each for one in questions) or "arms" in spec,
        "control_arms": {arm: dict.fromkeys(one["hides"]) for arm, one in spec.get("arms", {}).items()},
        "declaration": spec,
        "instructions": spec["instructions"],
        "practice": (),
        "exam": (),
        "prompt_text": spec.get("prompt", ""),
    }
    return type("".join(map(str.title, spec["name"].split("_"))), (DeclaredHitType,), attributes)()


def version_of(spec: Mapping[str, Any]) -> str:
    """The version of a file's content: 12 hexadecimal digits. Comments and spaces don't change it; the order of keys does,
    because questions and options are shown in it.

    >>> version_of({"a": 1, "b": 2}) == version_of({"b": 2, "a": 1})
    False
    """
    return text_digest(json.dumps(spec, ensure_ascii=False))[:12]


def _defaults(spec: Mapping[str, Any]) -> Defaults:
    exam = spec.get("exam_questions", 0)
    return Defaults(
        redundancy=spec.get("raters", 3),
        exam_questions=exam,
        pass_mark=spec.get("pass_mark", exam),
        minutes_per_item=float(spec.get("minutes", 1)),
        min_seconds=float(spec.get("min_seconds", 5)),
        pay_per_item=str(spec.get("pay", "0")),
        follow_ups=spec.get("follow_ups", 0),
        one_condition_per_instance=spec.get("one_condition_per_instance", False),
        questionnaire_before=" ".join(spec.get("before", ())),
        questionnaire_after=" ".join(spec.get("after", ())),
    )


def _variables(
    spec: Mapping[str, Any], questions: Mapping[str, DeclaredQuestion]
) -> list[tuple[Variable, str, str]]:
    """(variable, question, part of its values): those of the file, or else those of all questions."""
    named = {name: {"question": name} for name in questions} if "variables" not in spec else spec["variables"]
    found: list[tuple[Variable, str, str]] = []
    for name, one in named.items():
        question = questions[one.get("question", name)]
        made = list(question.variables())
        if "title" in one and not question.compound:
            found.append((_variable(name, one, question), question.name, ""))
            made = made[1:]
        known = {variable.name for variable, _, _ in found}
        found += [(v, question.name, v.name.removeprefix(question.name)) for v in made if v.name not in known]
    return found


def _variable(name: str, spec: Mapping[str, Any], question: DeclaredQuestion) -> Variable:
    return Variable(
        name,
        spec["title"],
        spec["level"],
        tuple(map(str, spec.get("labels", question.labels))),
        tuple(map(str, spec.get("abstain", ()))),
        {label: float(score) for label, score in spec.get("scores", question.scores).items()},
        question.name if question.name != name else "",
        str(spec.get("unasked", "")),
    )


# -- what is in the file besides: worked examples, practice, exam, prompt ------------------------------


class CaseError(ValueError):
    """What is wrong with an item and its answers in a file, by the place below them."""

    def __init__(self, errors: Mapping[tuple[str, ...], str]):
        self.errors = dict(errors)
        super().__init__(str(self.errors))


def case_of(kind: DeclaredHitType, case: Mapping[str, Any], arm: str = "") -> tuple[JSON, JSON]:
    """The payload and the correct response of an item with its answers, as a file writes them; raises ``CaseError``.

    A case of a control arm can leave out the columns that the arm hides, if their declarations have an example.
    """
    examples = {
        one.name: one.example
        for one in kind.columns
        if arm and one.name in kind.control_arms[arm] and one.example
    }
    try:
        payload = kind.parse_item({**examples, **case["item"]}).payload
    except FieldErrors as error:
        raise CaseError({("item", name): text for name, text in error.errors.items()}) from None
    if arm:
        payload = kind.control(payload, arm)
    questions = kind.questions_of(payload)
    unknown = set(case["item"]) - {column.name for column in kind.columns}
    errors: dict[tuple[str, ...], str] = {
        ("item", str(name)): "is not a column of this type" for name in unknown
    }
    gold: JSON = {}
    for name, raw in case.get("answers", {}).items():
        if name not in questions:
            errors["answers", name] = f"is not a question; expected one of: {', '.join(questions)}"
            continue
        try:
            gold |= questions[name].answer(raw, payload)
        except (ValueError, TypeError) as error:
            errors["answers", name] = str(error)
    if not errors and gold:
        try:
            gold = kind.parse_gold(payload, gold)
        except FieldErrors as error:
            for field, text in error.errors.items():
                owner = next((name for name in case["answers"] if f"{field}_".startswith(f"{name}_")), field)
                errors["answers", owner] = text
    if errors:
        raise CaseError(errors)
    return payload, gold


def question_made(kind: DeclaredHitType, spec: Mapping[str, Any], arm: str = "") -> Question:
    """A practice or exam question, of a control arm if one is named; raises ``CaseError``."""
    payload, gold = case_of(kind, spec, arm)
    pool = spec.get("pool", ARM_TITLES[arm] if arm else "")
    return Question(spec["key"], payload, gold, spec["reason"].strip(), pool)


def instructions_made(kind: DeclaredHitType, cases: list[tuple[JSON, JSON]]) -> str:
    """The file's instructions with its worked examples: where a line says ``[example 2]``, else below ``## Worked examples``."""
    text: str = kind.declaration["instructions"]
    fences = []
    for spec, (payload, gold) in zip(kind.declaration.get("examples", ()), cases, strict=True):
        example = {"title": spec["title"]} if spec.get("title") else {}
        example |= {"payload": payload, "response": gold, "reasoning": spec["reason"].strip()}
        fences.append(f"```example\n{json.dumps(example, ensure_ascii=False)}\n```")
    lines, left = [], dict(enumerate(fences, 1))
    for line in text.split("\n"):
        number = next((n for n in left if line.strip() == f"[example {n}]"), 0)
        lines.append(left.pop(number) if number else line)
    if left:
        rest = "\n\n".join(left.values())
        at = next((n for n, line in enumerate(lines) if line.strip() == EXAMPLES_HEADING), None)
        if at is None:
            return "\n".join([*lines, "", EXAMPLES_HEADING, "", rest, ""])
        end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("## ")), len(lines))
        lines[end:end] = ["", rest, ""]
    return "\n".join(lines)


def prompt_made(kind: DeclaredHitType, cases: list[tuple[JSON, JSON]]) -> str:
    """The prompt that is written from the file, with the worked examples that answer all of a stage as demonstrations."""
    demonstrations: dict[str, list[tuple[str, str]]] = {}
    for number, stage in enumerate(kind.declaration["stages"]):
        pairs = demonstrations.setdefault(stage, [])
        for spec, (payload, gold) in zip(kind.declaration.get("examples", ()), cases, strict=True):
            shown = kind.stages(images_in_words(payload))[number]
            mine = {asked.name: gold[asked.name] for asked in shown.fields if asked.name in gold}
            try:
                whole = kind.parse_response(payload, mine, number)
            except FieldErrors:
                continue  # an example about a part of the questions
            reason = " ".join(spec["reason"].split())
            pairs.append(
                (material_text(shown.blocks), f"{reason}\n{kind.write_reply(payload, whole, number)}")
            )
    declared = kind.declaration
    return prompt_draft(declared.get("people") or declared["task"], declared["instructions"], demonstrations)


def arm_prompts(kind: DeclaredHitType, arm: str) -> dict[str, str]:
    """The prompt of each stage of a control arm by the stage's name: that of the file, or one without demonstrations.

    Raises ``ValueError`` if the file's own prompt of the arm lacks a stage.
    """
    declared, own = kind.declaration, kind.declaration["arms"][arm]
    people = own.get("lead") or declared["task"]
    drafted = prompt_draft(people, own.get("instructions") or declared["instructions"], {arm: []})
    return {
        arm_stage(declared, arm, stage): prompt_part(own["prompt"], stage) if "prompt" in own else drafted
        for stage in declared["stages"]
    }
