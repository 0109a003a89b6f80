"""Properties of a rationale, two at a time: is each one present? (P3, Figures 3 and 9)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    SYSTEM_COLUMNS,
    YES_NO,
    Answers,
    Column,
    DeclaredStage,
    Defaults,
    Demo,
    Field,
    HitType,
    ItemSource,
    Option,
    Row,
    Shown,
    Variable,
    question_columns,
)
from annotator.hit_types.base import translatable as _

TITLES = {
    "grammaticality": "Grammaticality",
    "validity": "Factual validity",
    "association": "Association with the answer (support)",
    "contrast": "Contrast between answers (non-ambiguity)",
    "novelty": "Novel information",
    "leakage": "Leakage of the answer",
    "coherence": "Coherence (nothing irrelevant)",
    "conciseness": "Conciseness (nothing redundant)",
}


def _asked(name: str, label: str, yes: str, no: str) -> Field:
    options = (Option("yes", _("Yes"), yes), Option("no", _("No"), no))
    return Field(name, label, options=options, about=("question", "answer", "explanation"))


#: Group -> its two properties, in the order asked.
GROUPS: Mapping[str, tuple[Field, Field]] = {
    "surface_form": (
        _asked(
            "grammaticality",
            _("Grammar: is the explanation written in correct, understandable sentences?"),
            _("Its sentences are correct. Missing capital letters do not count."),
            _("Sentences are broken, cut off or jumbled."),
        ),
        _asked(
            "validity",
            _("Facts: is everything in the explanation factually correct?"),
            _("Every statement in it is true."),
            _("At least one statement in it is false."),
        ),
    ),
    "support": (
        _asked(
            "association",
            _("Support: does the explanation support the answer?"),
            _("It supports the answer given."),
            _("It supports another answer, or none."),
        ),
        _asked(
            "contrast",
            _("Non-ambiguity: does the explanation lead to this answer only?"),
            _("It leads to the answer given and to no other."),
            _("It could lead to another answer as well, or leads to another one instead."),
        ),
    ),
    "informativeness": (
        _asked(
            "novelty",
            _(
                "New information: does the explanation say anything that is not in the question or the answer?"
            ),
            _("It says something new."),
            _("It only repeats the question and the answer, in the same words or in others."),
        ),
        _asked(
            "leakage",
            _("Giveaway: does the explanation state the answer?"),
            _("It states the answer, in the same words or in others. The reader does not have to think."),
            _("The reader has to draw the conclusion."),
        ),
    ),
    "style": (
        _asked(
            "coherence",
            _("To the point: is everything in the explanation relevant to the question?"),
            _("Every sentence is relevant to the question."),
            _("At least one sentence has nothing to do with the question."),
        ),
        _asked(
            "conciseness",
            _("No repetition: does the explanation say each thing only once?"),
            _("Nothing is repeated, and nothing could be left out."),
            _("Something relevant is repeated, or could be left out without losing anything."),
        ),
    ),
}
_STAGE_TITLES = {
    "surface_form": _("Is the explanation well written and true?"),
    "support": _("Does the explanation support the answer?"),
    "informativeness": _("How informative is the explanation?"),
    "style": _("Is the explanation to the point?"),
}
_SHOWN = (
    Shown("question", _("Question")),
    Shown("options", _("Options"), "options"),
    Shown("answer", _("Answer"), "answer", group="explanation", options="options"),
    Shown("rationale", _("Explanation"), group="explanation", name="explanation"),
)


def _step(group: str) -> DeclaredStage:
    """The stage of a group; the second property is asked after the first."""
    first, second = GROUPS[group]
    lead = _("Pretend that the answer is right, even if you disagree.")
    if group == "surface_form":
        lead = _("Judge the sentences and the facts of the explanation. You may look facts up.")
    fields = (first, replace(second, when=((first.name, ("yes", "no")),)))
    return DeclaredStage(group, _STAGE_TITLES[group], _SHOWN, fields, lead, variant=group)


def _answer(row: Row, name: str = "answer", *, required: bool = True) -> str:
    """A letter if the question has options; else yes, no or the answer in words."""
    answers = Answers.read_options(row, "options")
    if answers.options:
        return answers.read(row, name, required=required)
    if isinstance(row.raw.get(name), bool):
        return row.label(name, YES_NO)
    text = row.text(name, required=required, limit=200)
    return YES_NO.get(text.lower(), text)


class RationaleProperties(HitType):
    """One group of two properties for each item; each group has its own instructions, and usually its own study."""

    name = "rationale_properties"
    title = "Properties of rationales"
    task_title = _("Judge an explanation")
    source = "Joshi et al. 2023, Figures 3 and 9"
    asks = "Are the explanations good?"
    people = "They judge one property of an explanation, such as whether it supports the answer, with two yes/no questions."
    variables = tuple(Variable(name, title, labels=("yes", "no")) for name, title in TITLES.items())
    columns = (
        Column(
            "question",
            "The question",
            example="Does argon burn?",
            options="options",
            material="instance_input",
        ),
        Column(
            "options",
            "Its possible answers, as a list; if left out, yes and no, or an open question",
            False,
            "list",
        ),
        Column(
            "answer",
            "The answer that the rationale explains, right or wrong",
            example="no",
            read=_answer,
            material="output",
        ),
        Column(
            "rationale",
            "The system's rationale",
            example="Argon does not react with oxygen.",
            material="explanation",
        ),
        Column(
            "group",
            f"The group of properties: {', '.join(GROUPS)}",
            kind="label",
            example="support",
            labels={group: group for group in GROUPS},
        ),
        Column(
            "gold_label",
            "The correct answer to the question; never shown",
            False,
            hidden=True,
            read=lambda row: _answer(row, "gold_label", required=False),
        ),
        *SYSTEM_COLUMNS,
        Column("gold_rationale", "A correct rationale; never shown", False, hidden=True),
        *ITEM_COLUMNS,
    )
    declared_stages = tuple(map(_step, GROUPS))
    #: 36.50 seconds an item on average (P3, Table 17); five annotators.
    defaults = Defaults(
        redundancy=5,
        exam_questions=8,
        pass_mark=6,
        minutes_per_item=0.61,
        pay_per_item="0.16",
        one_condition_per_instance=True,
    )
    demo = Demo(summary="Judge one aspect of explanations.", by_variant=True)
    headline = "association"
    measures = frozenset({"rationale_properties"})
    variants = tuple(GROUPS)
    variant_field = "group"
    made_from = "explanations"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        return {
            **source.system_columns(),
            **question_columns(source.instance.input),
            "key": f"e{source.explained.pk}",
            "answer": source.explained.output,
            "rationale": source.explained.text,
            "group": source.choices.get("group", ""),
        }

    def for_item(self, payload: JSON) -> HitType:
        """The type in a study of this item's group: its two properties, with the first as the headline."""
        asked = [asked.name for asked in GROUPS[payload["group"]]]
        variables = tuple(variable for variable in self.variables if variable.name in asked)
        return super().for_item(payload).replaced(variables=variables, headline=asked[0])

    def prompt_values(
        self, payload: JSON, stage: int, before: JSON, presentation: JSON | None = None
    ) -> dict[str, str]:
        """The question with its options, the answer and the explanation."""
        values = super().prompt_values(payload, stage, before, presentation)
        question = Answers.of(payload["options"]).after(payload["question"])
        return values | {"question": question, "explanation": payload["rationale"]}
