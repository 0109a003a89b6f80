"""What HIT types have in common that ask people to predict a system's next answer from its explanation (P1)."""

from __future__ import annotations

from typing import ClassVar

from annotator.hit_types.arms import ANSWER_ONLY, NOTHING
from annotator.hit_types.contract import HitType
from annotator.hit_types.making import MadeFrom
from annotator.hit_types.replies import Labels, read_answer, read_object, write_answer
from annotator.hit_types.shapes import JSON, Column, Field, Option, Variable
from annotator.hit_types.wording import translatable as _

_SO = r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?"
#: How models begin a sentence that states the robot's answer; a verb follows.
ROBOT_WILL = rf"{_SO}(?:the\s+)?robot\s+(?:will|would)\s+(?:most\s+)?(?:likely\s+|probably\s+)?"


class SimulationType(HitType):
    """The base of types in which people predict what a system does in a follow-up of an explained instance."""

    measures = frozenset({"simulatability"})
    headline = "simulation"
    reply_keys: ClassVar[tuple[str, ...]] = ("simulation", "prediction", "guess")
    made_from: ClassVar[MadeFrom] = "follow_ups"


CANNOT_GUESS = "cannot_guess"
_CANNOT_GUESS = (
    "cannot guess",
    "can't guess",
    "can not guess",
    "cannot be guessed",
    "can't be guessed",
    "can not be guessed",
    "unable to guess",
    "not helpful",
)


def simulated(
    title: str, labels: tuple[str, ...] = (), *, name: str = "simulation", field: str = "answer"
) -> Variable:
    """The variable of a type with two steps: the predicted answer, or that it can't be guessed."""
    return Variable(name, title, labels=labels, abstain=(CANNOT_GUESS,), field=field, unasked=CANNOT_GUESS)


def helpful(label: str, no: str) -> Field:
    """The first of two steps: whether explanation and answer help at all."""
    yes = _("Something in the robot's explanation or answer directly helps, even if more facts are needed.")
    return Field(
        "helpful",
        label,
        options=(Option("no", _("Not helpful"), no), Option("yes", _("Helpful"), yes)),
        help=_("Judge only whether they help, not whether they are true."),
        about=("explanation", "follow_up"),
    )


#: Arm -> what the second step's help says.
_HELP = {
    "": _("Stick to the robot's claims, even if they are wrong. Assume that it knows any missing facts."),
    ANSWER_ONLY: _(
        "Stick to the robot's answer, even if it is wrong. Assume that it knows any missing facts."
    ),
    NOTHING: _("Assume that the robot knows the facts that it needs."),
}


def predicted(
    label: str,
    options: tuple[Option, ...] = (),
    options_of: str = "",
    arm: str = "",
    *,
    name: str = "answer",
    after: str = "helpful",
) -> Field:
    """The second step: what the robot will answer; ``after`` is the name of the first one."""
    return Field(
        name,
        label,
        options=options,
        help=_HELP[arm],
        when=((after, ("yes",)),),
        about=("follow_up",),
        options_of=options_of,
    )


def helpful_answer(label: str, no: str) -> Field:
    """The first step where only the answer is shown: whether the starter question and the robot's answer help at all."""
    yes = _(
        "Something in the starter question or the robot's answer directly helps, even if more facts are needed."
    )
    return Field(
        "helpful",
        label,
        options=(Option("no", _("Not helpful"), no), Option("yes", _("Helpful"), yes)),
        help=_("Judge only whether they help, not whether the answer is right."),
        about=("answer", "follow_up"),
    )


def guessable(label: str, no: str, *, name: str = "helpful") -> Field:
    """The first step where only the follow-up question is shown: whether it helps at all."""
    yes = _("Something in the question helps, even if more facts are needed.")
    return Field(
        name,
        label,
        options=(Option("no", _("Cannot guess"), no), Option("yes", _("Can guess"), yes)),
        about=("follow_up",),
    )


class TwoStepSimulation(SimulationType):
    """Whether the explanation helps to predict the answer and, if it does, the answer."""

    phrases: ClassVar[tuple[str, ...]] = (
        rf"{ROBOT_WILL}(?:answer|say)\s+",
        rf"{_SO}i\s+(?=cannot guess|can't guess|can not guess)",
        rf"{_SO}(?:it|this|that|the\s+(?:robot's\s+)?answer)\s+(?=cannot be guessed|can't be guessed|can not be guessed)",
    )

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """``ANSWER:`` with an answer or ``CANNOT GUESS`` as a response; JSON with both steps is read too."""
        first, second = self._asked(payload, stage, presentation)
        steps = read_object(text) or {}
        if str(steps.get(first.name)).strip().lower() in ("no", "false"):
            # As in the form: if it doesn't help, the second question isn't asked, so an answer to it is ignored.
            return {first.name: "no"}
        labels: Labels = {**self.labels_of(second, payload), CANNOT_GUESS: _CANNOT_GUESS}
        keys = (second.name, "answer", *self.reply_keys)
        answer = read_answer(text, labels, keys=keys, phrases=self.phrases, language=self.language)
        return {first.name: "no"} if answer == CANNOT_GUESS else {first.name: "yes", second.name: answer}

    def write_reply(
        self, payload: JSON, response: JSON, stage: int = 0, presentation: JSON | None = None
    ) -> str:
        """The last line of a reply that means this response."""
        _, second = self._asked(payload, stage, presentation)
        labels = self.labels_of(second, payload)
        return write_answer(labels.get(response.get(second.name, ""), _CANNOT_GUESS)[0])


#: Columns of every type with a follow-up.
KIND_COLUMN = Column(
    "kind", "The kind of follow-up question", False, example="counterfactual", hidden=True, limit=60
)
GENERATOR_COLUMN = Column(
    "generator", "Who or what wrote the follow-up question", False, example="writer-x", hidden=True, limit=200
)
