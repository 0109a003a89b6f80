"""Counterfactual simulation on preferences: which response will the robot choose next? (P1, Figure 4)"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from annotator.hit_types.base import (
    ANSWER_ONLY,
    ITEM_COLUMNS,
    JSON,
    NO_ANSWER,
    NOTHING,
    ROBOT_WILL,
    SYSTEM_COLUMNS,
    Column,
    DeclaredStage,
    Defaults,
    Field,
    ItemSource,
    Labels,
    Material,
    Option,
    Row,
    Shown,
    SimulationType,
    Variable,
    preference_parts,
    stable_key,
)
from annotator.hit_types.base import translatable as _

EQUALLY_LIKELY = "equally_likely"
#: Spellings of a choice in import files; the paper's prompts say "Candidate Response 1".
CHOICES = {
    spelling: f"response_{number}"
    for number in (1, 2)
    for spelling in (f"{number}", f"response {number}", f"response_{number}", f"candidate response {number}")
}


_FOLLOW_UP = ("follow_up_context", "follow_up_response_1", "follow_up_response_2")


def _choice(label: str, either: str, help: str, responses: tuple[str, str]) -> Field:
    """The question of a control arm; ``either`` says when the responses, named as on the screen, are equally likely."""
    options = (
        Option("response_1", responses[0]),
        Option("response_2", responses[1]),
        Option(EQUALLY_LIKELY, _("Equally likely"), either),
    )
    return Field("choice", label, options=options, help=help, about=_FOLLOW_UP)


class SimulationPreference(SimulationType):
    """Response 1, response 2, or equally likely."""

    name = "simulation_preference"
    title = "Counterfactual simulation, preferences"
    task_title = _("Predict the robot's choice")
    source = "Chen et al. 2024, Figure 4"
    asks = "Can people predict what the model does?"
    people = (
        "They read why the model preferred one of two responses, and predict which of two others it prefers."
    )
    variables = (
        Variable(
            "simulation",
            "Simulated choice",
            labels=("response_1", "response_2", EQUALLY_LIKELY),
            abstain=(EQUALLY_LIKELY,),
            field="choice",
        ),
    )
    columns = (
        Column(
            "context",
            "The post that the responses reply to",
            example="How do I keep basil alive?",
            material="instance_input",
        ),
        Column("response_1", "The first response to it", example="Water it from below and give it light."),
        Column("response_2", "The second response to it", example="Mine always dies too!"),
        Column(
            "explanation",
            "The system's explanation of its choice",
            example="Response 1 gives concrete advice.",
            material="explanation",
        ),
        Column(
            "choice",
            "The system's choice: 1 or 2",
            kind="label",
            example="1",
            labels=CHOICES,
            material="output",
        ),
        Column("follow_up_context", "The post of the follow-up example", example="How do I clean a kettle?"),
        Column("follow_up_response_1", "The first response of the follow-up example", example="No idea."),
        Column(
            "follow_up_response_2",
            "The second response of the follow-up example",
            example="Boil vinegar in it.",
        ),
        Column(
            "real_output",
            "The system's real choice in the follow-up example: 1 or 2; never shown",
            False,
            "label",
            "2",
            labels={**CHOICES, **NO_ANSWER},
            hidden=True,
        ),
        *SYSTEM_COLUMNS,
        Column(
            "generator",
            "Who or what wrote the follow-up example",
            False,
            example="writer-x",
            hidden=True,
            limit=200,
        ),
        Column(
            "kind", "The kind of follow-up example", False, example="counterfactual", hidden=True, limit=60
        ),
        Column(
            "gold_label",
            "The response of the starter example that people found more helpful",
            False,
            "label",
            "1",
            labels=CHOICES,
            hidden=True,
        ),
        *ITEM_COLUMNS,
    )
    declared_stages = (
        DeclaredStage(
            "simulation",
            _("Which response will the robot choose?"),
            shown=(
                Shown("context", _("Starter context"), group="starter_example"),
                Shown("response_1", _("Starter response 1"), group="starter_example"),
                Shown("response_2", _("Starter response 2"), group="starter_example"),
                Shown("explanation", _("The robot's explanation"), group="starter_example"),
                Shown(
                    "choice",
                    _("The robot chose"),
                    "answer",
                    group="starter_example",
                    name="robot_choice",
                    words={"response_1": _("Starter response 1"), "response_2": _("Starter response 2")},
                ),
                Shown("follow_up_context", _("Follow-up context"), group="follow_up_example"),
                Shown("follow_up_response_1", _("Follow-up response 1"), group="follow_up_example"),
                Shown("follow_up_response_2", _("Follow-up response 2"), group="follow_up_example"),
            ),
            fields=(
                Field(
                    "choice",
                    _("Which response will the robot choose in the follow-up example?"),
                    options=(
                        Option("response_1", _("Follow-up response 1")),
                        Option("response_2", _("Follow-up response 2")),
                        Option(
                            EQUALLY_LIKELY,
                            _("Equally likely"),
                            _("Going by its explanation and choice, the robot could choose either."),
                        ),
                    ),
                    help=_("Choose what a consistent robot would choose, not what you find more helpful."),
                    about=("follow_up_context", "follow_up_response_1", "follow_up_response_2"),
                ),
            ),
        ),
    )
    control_arms = {
        ANSWER_ONLY: {"explanation": None},
        NOTHING: dict.fromkeys(("context", "response_1", "response_2", "explanation", "choice")),
    }
    control_stages = {
        ANSWER_ONLY: DeclaredStage(
            ANSWER_ONLY,
            _("Which response will the robot choose?"),
            shown=(
                Shown("context", _("Starter context"), group="starter_example"),
                Shown("response_1", _("Starter response 1"), group="starter_example"),
                Shown("response_2", _("Starter response 2"), group="starter_example"),
                Shown(
                    "choice",
                    _("The robot chose"),
                    "answer",
                    group="starter_example",
                    name="robot_choice",
                    words={"response_1": _("Starter response 1"), "response_2": _("Starter response 2")},
                ),
                Shown("follow_up_context", _("Follow-up context"), group="follow_up_example"),
                Shown("follow_up_response_1", _("Follow-up response 1"), group="follow_up_example"),
                Shown("follow_up_response_2", _("Follow-up response 2"), group="follow_up_example"),
            ),
            fields=(
                _choice(
                    _("Which response will the robot choose in the follow-up example?"),
                    _("Going by its choice in the starter example, the robot could choose either."),
                    _("Choose what a consistent robot would choose, not what you find more helpful."),
                    (_("Follow-up response 1"), _("Follow-up response 2")),
                ),
            ),
            lead=_("You see no explanation here. Go by the starter example and the robot's choice."),
        ),
        NOTHING: DeclaredStage(
            NOTHING,
            _("Which response will the robot choose?"),
            shown=(
                Shown("follow_up_context", _("Context"), group="follow_up_example"),
                Shown("follow_up_response_1", _("Response 1"), group="follow_up_example"),
                Shown("follow_up_response_2", _("Response 2"), group="follow_up_example"),
            ),
            fields=(
                _choice(
                    _("Which response will the robot find more helpful?"),
                    _("Nothing in the example helps to predict the robot's choice. It could choose either."),
                    _("Choose what the robot would choose, not what you find more helpful."),
                    (_("Response 1"), _("Response 2")),
                ),
            ),
            lead=_("You see one example only. Predict which response the robot will find more helpful."),
        ),
    }
    spellings: ClassVar[Labels] = {
        "response_1": ("response 1", "1", "candidate response 1"),
        "response_2": ("response 2", "2", "candidate response 2"),
        EQUALLY_LIKELY: (
            "equally likely",
            "both equally likely",
            "either",
            "cannot guess",
            "can't guess",
            "can not guess",
        ),
    }
    phrases = (
        rf"{ROBOT_WILL}(?:choose|pick|prefer)\s+",
        r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?(?=(?:candidate\s+)?response\s+[12]\s+is\s+more\s+helpful)",
    )
    defaults = Defaults(
        redundancy=3, exam_questions=11, pass_mark=9, minutes_per_item=2.0, pay_per_item="0.60", follow_ups=6
    )

    def read_item(self, row: Row) -> tuple[JSON, Material]:
        """Both examples as one text each, as similarity measures and exports need them."""
        payload, material = super().read_item(row)
        starter, follow_up = (
            f"Context: {payload[f'{of}context']}\n\nResponse 1: {payload[f'{of}response_1']}\n\n"
            f"Response 2: {payload[f'{of}response_2']}"
            for of in ("", "follow_up_")
        )
        instance = row.text("instance", required=False, limit=200) or stable_key(starter)
        return payload, replace(material, instance_key=instance, instance_input=starter, follow_up=follow_up)

    def make_row(self, source: ItemSource) -> JSON | None:
        """The import row of an item; see ``columns``."""
        context, first, second = preference_parts(source.instance.input)
        follow_up, follow_up_first, follow_up_second = preference_parts(source.followed.text)
        return source.pair_columns() | {
            "context": context,
            "response_1": first,
            "response_2": second,
            "explanation": source.explained.text,
            "choice": source.explained.output[-1:],
            "follow_up_context": follow_up,
            "follow_up_response_1": follow_up_first,
            "follow_up_response_2": follow_up_second,
            "real_output": source.output[-1:],
            "gold_label": source.instance.gold_label[-1:],
        }
