"""A HIT type for tests, so that they don't depend on the wording of a real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.core.canonical import text_digest
from annotator.hit_types.base import (
    YES_NO,
    Block,
    Column,
    Defaults,
    Field,
    HitType,
    ItemDraft,
    Material,
    Option,
    Rating,
    Row,
    Stage,
    Variable,
)

OPTIONS = tuple(Option(value, value.title()) for value in ("yes", "no", "unsure"))


class Toy(HitType):
    name = "toy"
    title = "Toy"
    task_title = "toy task"
    source = "these tests"
    headline = "guess"
    variables = (Variable("guess", "Guess", labels=("yes", "no", "unsure"), abstain=("unsure",)),)
    defaults = Defaults(redundancy=2)
    columns = (
        Column("question", "the starter question"),
        Column("explanation", "what the system said"),
        Column("answer", "the system's answer", kind="label"),
        Column("follow_up", "the question after it"),
        Column("real_output", "the system's answer to that", required=False, kind="label"),
        Column("system", "the system's name", required=False),
        Column("model", "its model", required=False),
        Column("key", "your own name of the item", required=False),
        Column("instance", "your own name of the question", required=False),
        Column("units", "the explanation's atomic units", required=False, kind="list"),
        Column("follow_up_label", "the right answer to the follow-up", required=False),
        Column("role", "ordinary, gold or attention", required=False),
        Column("gold", "the right response", required=False, kind="json"),
        Column("others", "further explanations", required=False, kind="list"),
    )

    def parse_item(self, row: Mapping[str, Any]) -> ItemDraft:
        r = Row(row)
        question, explanation = r.text("question"), r.text("explanation")
        answer, follow_up = r.label("answer", YES_NO), r.text("follow_up")
        real = r.label("real_output", YES_NO, required=False)
        system, model = r.text("system", required=False), r.text("model", required=False)
        others = r.texts("others") if row.get("others") else []
        key, instance = r.text("key", required=False), r.text("instance", required=False)
        units = r.texts("units") if row.get("units") else []
        gold = r.json("gold") or None
        r.check()
        return ItemDraft(
            gold=gold,
            role=r.text("role", required=False) or "ordinary",
            key=key or text_digest(question, explanation, follow_up)[:16],
            payload={
                "question": question,
                "explanation": explanation,
                "answer": answer,
                "follow_up": follow_up,
            },
            material=Material(
                instance_key=instance or text_digest(question)[:16],
                instance_input=question,
                system=system,
                model=model,
                explanation=explanation,
                output=answer,
                follow_up=follow_up,
                real_output=real,
                follow_up_gold=r.text("follow_up_label", required=False),
                units=tuple(("both", text) for text in units),
                parts=tuple((str(n), f"other {n}", text) for n, text in enumerate(others, 1)),
            ),
        )

    def stages(
        self, payload: dict[str, Any], presentation: dict[str, Any] | None = None
    ) -> tuple[Stage, ...]:
        blocks = (Block("question", "Question", payload["question"]),)
        fields = (
            Field("guess", "What will it answer?", options=OPTIONS),
            Field("why", "Why?", kind="text", required=False),
        )
        return (Stage("only", "Only", blocks, fields),)

    def to_ratings(self, payload: dict[str, Any], response: dict[str, Any]) -> list[Rating]:
        return [Rating("guess", response["guess"])]

    def parse_reply(self, text: str, payload: dict[str, Any], stage: int = 0) -> dict[str, Any]:
        return {"guess": text}

    instructions = "Guess."
    exam = ()
    practice = ()
