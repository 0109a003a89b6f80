"""Atomic units of an explanation: parsed correctly, in the input, in the output, what is missing. (P2, Appendix A)"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from annotator.hit_types.atomic_units import schema, scoring
from annotator.hit_types.base import (
    JSON,
    YES_NO_LABELS,
    Defaults,
    Grade,
    HitType,
    ItemSource,
    Labels,
    Material,
    Question,
    Rating,
    Row,
    Stage,
    Unparsable,
    Variable,
    answered_numbers,
    for_variant,
    read_answers,
    read_line,
    write_answers,
)
from annotator.hit_types.base import translatable as _

REPLIES: Labels = {"yes": (*YES_NO_LABELS["yes"], "found"), "no": (*YES_NO_LABELS["no"], "not found")}
NOTHING = {"nothing", "none", "no", "-", "n/a", "nothing is missing", "nothing missing"}


class AtomicUnits(HitType):
    """News summaries have one list of points; medical advice has the patient's details and the suggestions."""

    name = "atomic_units"
    title = "Atomic units of explanations"
    task_title = _("Check a list of points")
    source = "Limpijankit et al. 2025, Appendix A"
    asks = "Does the model do what its explanation says?"
    people = "They check the points that an explanation consists of, and look for them in other inputs and outputs."
    variables = (
        Variable("parsed", "The unit is parsed correctly", labels=("yes", "no")),
        Variable("in_input", "The unit is in the input", labels=("yes", "no")),
        Variable("in_output", "The unit is in the output", labels=("yes", "no")),
        Variable("complete", "No unit is missing", labels=("yes", "no")),
    )
    columns = schema.COLUMNS
    defaults = Defaults(
        redundancy=3,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=3.0,
        min_seconds=10.0,
        follow_ups=3,
    )
    headline = "in_output"
    ratings_need_item = False
    measures = frozenset({"unit_presence"})
    most_stages = 4
    variants = schema.DOMAINS
    variant_field = "domain"
    part_field = "ask"
    rule_field = "matching"
    made_from = "follow_ups"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        explanation = source.explained
        if not explanation.units:
            return None
        texts = {
            role: [text for own, text in explanation.units if own == role] for role, _ in explanation.units
        }
        parts: JSON = {"domain": "news", "units": texts.get("both")}
        if "both" not in texts:
            parts = {
                "domain": "medical",
                "details": texts.get("input", []),
                "suggestions": texts.get("output", []),
            }
        return {
            **source.system_columns(),
            **parts,
            "key": source.pair_key(),
            "explanation": explanation.text,
            "input": source.followed.text,
            "output": source.output,
            "original": source.instance.input,
            "generator": source.followed.generator,
            # Parsing is judged once for each explanation (Appendix A), not again with each counterfactual.
            "ask": list(schema.PARTS) if source.first else ["input", "output"],
            "matching": source.choices.get("matching", ""),
        }

    def read_item(self, row: Row) -> tuple[JSON, Material]:
        """Domain, explanation, its units, input and output; see ``columns``."""
        return schema.read_item(row)

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """Three stages for news, four for medical; fewer if the item asks for some parts only."""
        return tuple(schema.stage_of(payload, check) for check in schema.plan_of(payload))

    def units(self, payload: JSON) -> tuple[str, ...]:
        """The units' numbers; for medical items also the two lists, which are judged for completeness."""
        numbers = tuple(str(number) for number in range(1, len(payload["units"]) + 1))
        return numbers if payload["domain"] == "news" else (*numbers, "details", "suggestions")

    def expected(self, variant: str) -> JSON:
        """The domain, with the paper's rule on partial matches."""
        return super().expected(variant) | {"matching": schema.PAPER_RULES[variant]}

    def sections(self, payload: JSON, gold: JSON | None = None) -> tuple[str, ...]:
        """``news/parse`` and so on: the domain with each part that the item asks; and the rule on partial matches."""
        parts = tuple(f"{payload['domain']}/{part}" for part in payload.get("ask") or schema.PARTS)
        return (*parts, schema.rule_of(payload))

    def for_item(self, payload: JSON) -> HitType:
        """With the item's variant, and with its rule on partial matches."""
        text = for_variant(self.instructions, self.variant(payload), schema.rule_of(payload))
        return self._ruled(super().for_item(payload), [payload]).replaced(instructions=text)

    def for_items(self, payloads: Iterable[JSON], *, exam: bool = True, practice: bool = True) -> HitType:
        """With the items' variants and parts, and with the questions that their rule on partial matches allows."""
        items = list(payloads)
        if not items:
            return self
        own = self._ruled(self, items)
        return HitType.for_items(own, items, exam=exam, practice=practice)

    def _ruled(self, kind: HitType, items: list[JSON]) -> HitType:
        """The questions whose answers are right under the items' rule, worded for that rule; all if the items differ in it."""
        rules = {schema.rule_of(payload) for payload in items}
        if len(rules) != 1:
            return kind
        rule = rules.pop()

        def under(questions: tuple[Question, ...]) -> tuple[Question, ...]:
            return tuple(
                replace(question, payload=question.payload | {"matching": rule})
                for question in questions
                if question.payload.get("matching", rule) == rule
            )

        return kind.replaced(exam=under(kind.exam), practice=under(kind.practice))

    def grade(self, response: JSON, gold: JSON) -> Grade:
        """Every judgment that gold names; free text is not graded."""
        graded = {name: value for name, value in gold.items() if not name.endswith("missing")}
        return super().grade(response, graded)

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating for each unit and part, and for the completeness of each list."""
        return scoring.to_ratings(response)

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The stage's material and its numbered points."""
        blocks = self.stages(payload)[stage].blocks
        points = [f"{b.name.removeprefix('unit_')}. {b.text}" for b in blocks if b.group == "points"]
        texts = [f"{b.label}: {b.text}" for b in blocks if b.group != "points"]
        rule = schema.RULES[schema.rule_of(payload)]
        return {
            "material": "\n".join(texts),
            "points": "\n".join(points) or "(the list is empty)",
            "rule": rule,
        }

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER: 1=YES; 2=NO``, after ``MISSING: ...`` if a list is checked, as a response of that stage."""
        check = schema.plan_of(payload)[stage]
        return self._read(text, check, [str(number) for number, _ in schema.numbered(payload, check.role)])

    def demonstrated(
        self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> JSON | None:
        """The demonstration's own points, with null for what is missing if nothing is."""
        check = schema.plan_of(payload)[stage]
        response = self._read(text, check, answered_numbers(text))
        return dict.fromkeys(check.list_fields) | response if check.part == "parse" else response

    def _read(self, text: str, check: schema.Check, numbers: list[str]) -> JSON:
        answers = read_answers(text, numbers, REPLIES, language=self.language)
        response: JSON = {f"{check.field}_{n}": answers[n] for n in numbers}
        if check.part == "parse":
            named = read_line(text, "MISSING")
            if not named:
                raise Unparsable("the reply has no line that begins with MISSING:")
            complete, missing = check.list_fields
            nothing = named.strip(" .\"'").lower() in NOTHING
            response |= {complete: "yes"} if nothing else {complete: "no", missing: named}
        return response

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last lines of a reply that means this response."""
        check = schema.plan_of(payload)[stage]
        numbers = [str(number) for number, _ in schema.numbered(payload, check.role)]
        answer = write_answers({n: response[f"{check.field}_{n}"] for n in numbers})
        if check.part != "parse":
            return answer
        complete, missing = check.list_fields
        named = "nothing" if response[complete] == "yes" else " ".join(response[missing].split())
        return f"MISSING: {named}\n{answer}"
