"""Validation of generalization questions: relation, answerable, answer. (P3, Figure 10)"""

from __future__ import annotations

from collections.abc import Mapping

from annotator.hit_types.base import (
    ITEM_COLUMNS,
    JSON,
    YES_NO,
    YES_NO_LABELS,
    Column,
    DeclaredStage,
    Defaults,
    Field,
    HitType,
    ItemSource,
    Labels,
    Option,
    Row,
    Shown,
    Unparsable,
    Variable,
    read_answers,
    write_answers,
)
from annotator.hit_types.base import translatable as _

#: Kind -> (what is asked about the relation, what yes means, what no means).
RELATIONS: Mapping[str, tuple[str, str, str]] = {
    "rephrase": (
        _("Does the accompanying question ask the same thing as the original question, in other words?"),
        _("It means the same, is worded differently, and has the same answer."),
        _("It asks something else, is the same question again, or cannot be answered with yes or no."),
    ),
    "counterfactual": (
        _(
            "Does the accompanying question reverse the original question, so that its answer is the opposite?"
        ),
        _("The same facts and reasoning answer it, and its answer is the opposite."),
        _("Its answer is the same, it needs other facts, or it cannot be answered with yes or no."),
    ),
    "similar_reasoning": (
        _("Does the accompanying question need similar reasoning to the original question?"),
        _("It uses the same reasoning for something else, or one step of the reasoning."),
        _("It needs other reasoning, is the same question again, or cannot be answered with yes or no."),
    ),
}
KINDS = {kind: kind for kind in RELATIONS} | {
    "similar reasoning": "similar_reasoning",
    "similar": "similar_reasoning",
}
REPLIES: Labels = {**YES_NO_LABELS, "none": ("none", "n/a", "na", "not applicable", "-")}
_YES_NO_OPTIONS = (Option("yes", _("Yes")), Option("no", _("No")))
_SHOWN = (
    Shown("context", _("Context")),
    Shown("question", _("Original question"), group="original"),
    Shown("follow_up", _("Accompanying question"), group="accompanying"),
)
_ANSWER = Shown("answer", _("Answer to the accompanying question"), "answer", group="accompanying")
#: The only kind whose answer is shown and checked: a rephrase has the original's, a counterfactual the opposite one (Figure 10).
ANSWERED = "similar_reasoning"
_ANSWERABLE = Field(
    "answerable",
    _("Can the accompanying question be answered from the context?"),
    options=_YES_NO_OPTIONS,
    help=_("You may use common knowledge, but do not look anything up."),
    when=(("relation", ("yes", "no")),),
    about=("context", "follow_up"),
)
_ANSWER_RIGHT = Field(
    "answer_right",
    _("Is its answer right, going by the context?"),
    options=_YES_NO_OPTIONS,
    when=(("answerable", ("yes",)),),
    about=("context", "answer"),
)


def _step(kind: str) -> DeclaredStage:
    label, yes, no = RELATIONS[kind]
    options = (Option("yes", _("Yes"), yes), Option("no", _("No"), no))
    relation = Field("relation", label, options=options, about=("question", "follow_up"))
    shown = (*_SHOWN, _ANSWER) if kind == ANSWERED else _SHOWN
    fields = (relation, _ANSWERABLE, _ANSWER_RIGHT) if kind == ANSWERED else (relation, _ANSWERABLE)
    return DeclaredStage(kind, _("Check the accompanying question"), shown, fields, variant=kind)


def _answer(row: Row) -> str:
    """A rephrase has the original's answer and a counterfactual the opposite one: these two may leave theirs out."""
    kind = row.label("kind", KINDS)
    gold_label = row.label("gold_label", YES_NO, required=False)
    answer = row.label("answer", YES_NO, required=False)
    if not answer and kind and "answer" not in row.errors:
        opposite = {"yes": "no", "no": "yes"}.get(gold_label, "")
        answer = {"rephrase": gold_label, "counterfactual": opposite}.get(kind, "")
        if not answer:
            hint = "" if kind == "similar_reasoning" else ", or gold_label to take it from"
            row.errors["answer"] = f"is missing; expected yes or no{hint}"
    return answer


class QuestionValidation(HitType):
    """Each kind of question (rephrase, counterfactual, similar reasoning) has its own instructions.

    Whether the answer is right is asked of similar reasoning alone: that of the other two follows from the original's.
    """

    name = "question_validation"
    title = "Validation of generalization questions"
    task_title = _("Check an accompanying question")
    source = "Joshi et al. 2023, Figure 10"
    asks = "Is my material right?"
    people = "They check whether a generated question rephrases, reverses or parallels the original one."
    variables = (
        Variable("relation", "The relation holds", labels=("yes", "no")),
        Variable("answerable", "Answerable from the context", labels=("yes", "no")),
        Variable("answer_right", "The answer is right", labels=("yes", "no")),
    )
    columns = (
        Column(
            "context",
            "The facts behind the original question, or its gold rationale",
            example="Water that freezes takes more room.",
            material="gold_rationale",
        ),
        Column(
            "question",
            "The original question",
            example="Can frost burst a closed water pipe?",
            material="instance_input",
        ),
        Column(
            "follow_up",
            "The accompanying question",
            example="Does water take more room when it freezes?",
            material="follow_up",
        ),
        Column(
            "answer",
            "Its answer: yes or no; optional for rephrase (then gold_label) and counterfactual (then the opposite of gold_label)",
            False,
            "label",
            "yes",
            read=_answer,
            material="follow_up_gold",
        ),
        Column(
            "kind",
            "Its intended relation: rephrase, counterfactual or similar_reasoning",
            kind="label",
            example="rephrase",
            labels=KINDS,
            material="kind",
        ),
        Column(
            "gold_label",
            "The correct answer to the original question; never shown",
            False,
            "label",
            "yes",
            labels=YES_NO,
            hidden=True,
        ),
        Column(
            "generator",
            "Who or what wrote the accompanying question",
            False,
            example="writer-x",
            hidden=True,
            limit=200,
        ),
        *ITEM_COLUMNS,
    )
    declared_stages = tuple(map(_step, RELATIONS))
    defaults = Defaults(
        redundancy=3, exam_questions=8, pass_mark=6, minutes_per_item=0.7, pay_per_item="0.18"
    )
    headline = "relation"
    variants = tuple(RELATIONS)
    variant_field = "kind"
    measures = frozenset({"question_validity"})
    made_from = "questions"

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        if not source.instance.gold_rationale:
            return None
        follow_up = source.followed
        return {
            "key": f"f{follow_up.pk}",
            "instance": source.instance.key,
            "context": source.instance.gold_rationale,
            "question": source.instance.input,
            "gold_label": source.instance.gold_label,
            "follow_up": follow_up.text,
            "answer": follow_up.gold_label,
            "kind": follow_up.kind,
            "generator": follow_up.generator,
        }

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER: 1=YES; 2=YES; 3=NO`` as a response; the third, of similar reasoning alone, is NONE if the second is NO."""
        asked = ["1", "2", "3"] if payload["kind"] == ANSWERED else ["1", "2"]
        answers = read_answers(text, asked, REPLIES, language=self.language)
        if "none" in (answers["1"], answers["2"]):
            raise Unparsable("1 and 2 need YES or NO")
        response = {"relation": answers["1"], "answerable": answers["2"]}
        third = answers.get("3", "none")
        if "3" in answers and (answers["2"] == "no") != (third == "none"):
            raise Unparsable(f"2={answers['2']} does not go with 3={third}", kind="ambiguous")
        return response if third == "none" else response | {"answer_right": third}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        answers = {"1": response["relation"], "2": response["answerable"]}
        if payload["kind"] == ANSWERED:
            answers["3"] = response.get("answer_right", "none")
        return write_answers(answers)
