"""Human utility of a rationale: an answer before it and an answer after it. (P3, Figure 8)"""

from __future__ import annotations

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    SYSTEM_COLUMNS,
    Answers,
    Column,
    DeclaredStage,
    Defaults,
    Field,
    HitType,
    ItemSource,
    Shown,
    Variable,
    question_columns,
)
from annotator.hit_types.base import translatable as _

QUESTION = (
    Shown("question", _("Question"), group="question"),
    Shown("options", _("Options"), "options", group="question"),
)


class Utility(HitType):
    """The same question twice; the rationale is sent only after the first answer is committed."""

    name = "utility"
    title = "Human utility of rationales"
    task_title = _("Answer, read, answer again")
    source = "Joshi et al. 2023, Figure 8"
    asks = "Do the explanations help people?"
    people = "They answer a question, read the explanation, and answer again."
    #: Labels are yes and no or letters of each item's own options, so none are declared.
    variables = (
        Variable("before", "Answer before the rationale"),
        Variable("after", "Answer after the rationale"),
    )
    columns = (
        Column(
            "question",
            "The question",
            example="Does argon burn?",
            options="options",
            material="instance_input",
        ),
        Column("options", "Its possible answers, as a list; if left out, yes and no", False, "list"),
        Column(
            "rationale",
            "The system's rationale, shown after the first answer",
            example="Argon does not react with oxygen.",
            material="explanation",
        ),
        Column(
            "gold_label",
            "The correct answer; never shown",
            False,
            "label",
            "no",
            options="options",
            hidden=True,
        ),
        Column(
            "answer",
            "The system's own answer; never shown",
            False,
            "label",
            "no",
            options="options",
            hidden=True,
            material="output",
        ),
        *SYSTEM_COLUMNS,
        Column("gold_rationale", "A correct rationale; never shown", False, hidden=True),
        *ITEM_COLUMNS,
    )
    declared_stages = (
        DeclaredStage(
            "before",
            _("Before the explanation"),
            shown=QUESTION,
            fields=(
                Field(
                    "before",
                    _("What is the answer to the question?"),
                    about=("question",),
                    options_of="options",
                ),
            ),
            lead=_(
                "Answer as well as you can. If you do not know, choose what seems most likely. Please do not look it up."
            ),
        ),
        DeclaredStage(
            "after",
            _("After the explanation"),
            shown=(*QUESTION, Shown("rationale", _("Explanation"), group="explanation", name="explanation")),
            fields=(
                Field(
                    "after",
                    _("What is the answer to the question, going by the explanation alone?"),
                    help=_(
                        "Assume that the explanation is right, even if you disagree. Use nothing else that you know."
                    ),
                    about=("question", "explanation"),
                    options_of="options",
                ),
            ),
            lead=_("Now read the explanation and answer the question again, using only the explanation."),
        ),
    )
    most_stages = 2
    #: 37.41 seconds an item on average (P3, Table 17); five annotators.
    defaults = Defaults(
        redundancy=5,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=0.63,
        pay_per_item="0.16",
        one_condition_per_instance=True,
    )
    headline = "after"
    measures = frozenset({"utility"})
    made_from = "explanations"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        if not source.instance.gold_label:
            return None
        return {
            **source.system_columns(),
            **question_columns(source.instance.input),
            "key": f"e{source.explained.pk}",
            "rationale": source.explained.text,
            "gold_label": source.instance.gold_label,
            "answer": source.explained.output,
            "gold_rationale": source.instance.gold_rationale,
        }

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The question with its options; the explanation and the first answer at the second stage only."""
        answers = Answers.of(payload["options"])
        values = {
            "question": answers.after(payload["question"]),
            "answers": answers.form,
            "example": answers.example(payload["question"]),
        }
        if stage == 1:
            first = before.get("before")
            values |= {
                "explanation": payload["rationale"],
                "first": answers.say(first) if first else "not given",
            }
        return values
