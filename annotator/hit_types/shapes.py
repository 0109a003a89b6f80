"""The frozen value objects of HIT types: what is shown, asked, imported, rated and graded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, get_args

from annotator.hit_types.direction import direction_of
from annotator.hit_types.fields import Field as Field
from annotator.hit_types.fields import Option as Option
from annotator.hit_types.fields import Passages as Passages
from annotator.hit_types.images import ImageText, read_image
from annotator.hit_types.wording import Translate, Wording, translated

#: The characters of a text that takes about as much room as an image.
IMAGE_LENGTH = 600
Level = Literal["nominal", "ordinal", "interval", "ratio"]
#: Levels of values that are more than a label, written as JSON: a list of keys in order of the alphabet; a list of keys, the best
#: first; a list of ``{start, end, category, severity}``; ``{choice, strength}``. docs/declare-a-hit-type.md describes them.
Structured = Literal["set", "ranking", "span", "pairwise"]
STRUCTURED: frozenset[str] = frozenset(get_args(Structured))
JSON = dict[str, Any]


class FieldErrors(ValueError):
    """Invalid input: one message for each field, keyed by the field's name.

    >>> raise FieldErrors({"answer": "choose one of: yes, no"})
    Traceback (most recent call last):
    ...
    annotator.hit_types.shapes.FieldErrors: answer: choose one of: yes, no
    """

    def __init__(self, errors: Mapping[str, str]):
        self.errors = dict(errors)
        super().__init__("; ".join(f"{name}: {message}" for name, message in self.errors.items()))


class Unparsable(ValueError):
    """A model's reply without a usable answer; ``kind`` is 'refusal', 'cut_off', 'ambiguous' or 'no_answer'."""

    def __init__(self, message: str, *, kind: str = "no_answer"):
        self.kind = kind
        super().__init__(message)


@dataclass(frozen=True)
class Variable:
    """A measured variable of the ratings table.

    ``labels`` are in order if the level is ordinal, and empty if each item has its own labels. ``abstain`` are
    labels that say nothing about the outcome ("cannot guess"). ``scores`` maps a label to a number for metrics
    that need one (plausibility: yes 1, moderate 0.5, no 0). Its value is the answer to ``field``, by default the field of
    its own name; ``unasked`` is its value where that field isn't asked.
    """

    name: str
    title: str
    level: Level | Structured = "nominal"
    labels: tuple[str, ...] = ()
    abstain: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    field: str = ""
    unasked: str = ""

    @property
    def structured(self) -> bool:
        """Whether its values are JSON and not labels."""
        return self.level in STRUCTURED


@dataclass(frozen=True)
class AnsweredTwice:
    """The variables of one answer that is given before and after a model's answer is seen. They are right if they are the instance's
    correct answer, or the system's real output on the follow-up."""

    before: str = "before"
    after: str = "after"
    right: Literal["gold_label", "real_output"] = "gold_label"


@dataclass(frozen=True)
class Block:
    """One labelled piece of material. ``text`` is shown as text, never as HTML.

    The items of kind ``options`` bring their own letters. Those of kind ``marked`` are the words of a text; ``marks``
    has a number for each, 0 for unmarked words. ``voice`` says whose words they are: ``material`` is judged, and what the ``study`` says about
    it, such as a rule or a definition, is set like questions. ``fold`` says whether people can fold it away, and how it is at first.
    """

    name: str
    label: str
    text: str = ""
    items: tuple[str, ...] = ()
    kind: Literal["text", "answer", "list", "options", "marked"] = "text"
    group: str = ""
    #: How ``text`` is written; see ``annotator.hit_types.formats``.
    format: Literal["text", "markdown", "code", "table", "image"] = "text"
    marks: tuple[int, ...] = ()
    #: ISO 639-1 code of the material's language, where a page in another language shows it.
    language: str = ""
    voice: Literal["material", "study"] = "material"
    fold: Literal["", "open", "closed"] = ""

    @property
    def marked(self) -> tuple[tuple[str, int], ...]:
        """Each word with its mark."""
        return tuple(zip(self.items, self.marks, strict=True))

    @property
    def image(self) -> ImageText | None:
        """The image that it shows; None for any other format."""
        return read_image(self.text) if self.format == "image" else None

    @property
    def direction(self) -> str:
        """``rtl`` or ``ltr``, by its text; the label is aligned to the same side."""
        return direction_of(self.text or " ".join(self.items))

    @property
    def length(self) -> int:
        """The number of characters that it shows, without its label; an image takes as much room as a long text."""
        if self.format == "image" and self.text:
            return IMAGE_LENGTH
        return len(self.text) + sum(map(len, self.items))


@dataclass(frozen=True)
class Stage:
    """What is shown and asked at one time. ``blocks`` is everything visible now, including from earlier stages."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    fields: tuple[Field, ...]
    lead: str = ""


class AnswerText(str):
    """An answer as people read it. ``of_item``: whether it is (or has) an option of the item itself, and so is in the language of
    the item, whatever the language of the page.

    >>> AnswerText("A. Haus", of_item=True).of_item, AnswerText("A. Haus", of_item=True) == "A. Haus"
    (True, True)
    """

    __slots__ = ("of_item",)
    of_item: bool

    def __new__(cls, text: str, *, of_item: bool = False) -> Self:
        made = super().__new__(cls, text)
        made.of_item = of_item
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, bool]]:
        return (str(self),), {"of_item": self.of_item}


def answers_in_words(
    stages: Iterable[Stage], response: Mapping[str, Any], translate: Translate = str
) -> list[tuple[str, str]]:
    """What was answered in these stages, for people: (question, answer) in the order asked.

    A field about one of several blocks names its block: "Explanation 2: ...". Only fields of ``stages`` are shown.
    ``translate`` puts the texts that the HIT type wrote into another language; by default they stay English. The answers are
    ``AnswerText``.
    """
    lines: list[tuple[str, str]] = []
    for stage in stages:
        blocks = {block.name: block.label for block in stage.blocks}
        for asked in stage.fields:
            if asked.name in response:
                value = response[asked.name]
                values = value if isinstance(value, list) else [value]
                labels = {option.value: option.label for option in asked.options}
                chosen = [labels.get(str(one), str(one)) for one in values]
                of_item = any(str(one) in labels for one in values) and not all(
                    isinstance(one, Wording) for one in chosen
                )
                about = f"{translated(blocks[asked.target], translate)}: " if asked.target in blocks else ""
                lines.append(
                    (
                        about + translated(asked.label, translate),
                        AnswerText(", ".join(translated(one, translate) for one in chosen), of_item=of_item),
                    )
                )
    return lines


@dataclass(frozen=True)
class Column:
    """A column of an import file (a JSON Lines key or a CSV header), and how ``HitType.read_item`` reads it.

    A text may have at most ``limit`` characters. A label is one of ``labels`` (spelling -> label). ``options`` names the
    column with the options of this text, or those of which this label is one; ``labels`` then has what it may be besides.
    ``read`` reads any other column. What a ``hidden`` column contains is kept as material and never shown. ``material``
    is the attribute of ``Material`` that the column fills: for hidden ones, the attribute of its own name if empty.
    """

    name: str
    help: str
    required: bool = True
    kind: Literal["text", "label", "list", "json"] = "text"
    example: Any = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    options: str = ""
    hidden: bool = False
    material: str = ""
    limit: int = 20_000
    read: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Material:
    """The research material behind an item, as the database stores it. Empty means unknown.

    ``real_output`` is the system's real answer to the follow-up; it is never sent to an annotator.
    """

    instance_key: str
    instance_input: str
    gold_label: str = ""
    gold_rationale: str = ""
    system: str = ""
    model: str = ""
    method: str = ""
    explanation: str = ""
    output: str = ""
    follow_up: str = ""
    generator: str = ""
    kind: str = ""
    real_output: str = ""
    #: The correct answer to the follow-up question, if there is one (P3); ``gold_label`` belongs to the instance.
    follow_up_gold: str = ""
    #: More explanations of the instance (plausibility shows several): (unit suffix, system, explanation).
    parts: tuple[tuple[str, str, str], ...] = ()
    #: The explanation's atomic units in order: (role: both, input or output; text) (P2).
    units: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ItemDraft:
    """A parsed row of an import file, before it is stored."""

    key: str
    payload: JSON
    material: Material
    gold: JSON | None = None
    condition: str = ""
    #: What the item is for: ``ordinary``, ``gold`` (checked against its gold) or ``attention``.
    role: str = "ordinary"
    #: The researcher's own columns, by which reports can group and filter.
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rating:
    """One value of one variable. ``unit`` is a suffix within the item; empty if the item is the unit."""

    variable: str
    value: str
    unit: str = ""


@dataclass(frozen=True)
class Grade:
    """A response compared with gold: ``score`` is the share of graded fields that are right, ``right`` each field's result."""

    score: float
    right: Mapping[str, bool]

    @property
    def passed(self) -> bool:
        return bool(self.right) and all(self.right.values())


@dataclass(frozen=True)
class Question:
    """A practice or exam question: an item with its correct response and the reason for it.

    Exams are drawn evenly from their pools. ``pool`` is named after the rule that the question tests. If the type has
    variants, it begins with the variant: ``support`` or ``support/no no``.
    """

    key: str
    payload: JSON
    gold: JSON
    reason: str
    pool: str = ""


@dataclass(frozen=True)
class Defaults:
    """The settings that a new study of this type starts with; from the paper if it gives them.

    ``one_condition_per_instance`` is True if an answer is meaningful only from a person who has seen nothing else of
    the instance: for types with several arms or that ask a question again, and for those in which one item reveals another one's answer.
    """

    redundancy: int = 3
    exam_questions: int = 0
    pass_mark: int = 0
    minutes_per_item: float = 1.0
    min_seconds: float = 5.0
    #: What the paper paid for an item, in US dollars; 0 if it does not say or did not pay.
    pay_per_item: str = "0"
    follow_ups: int = 0
    one_condition_per_instance: bool = False
    #: Names of questionnaires that come with Foretell, separated by spaces, for before and after the tasks.
    questionnaire_before: str = ""
    questionnaire_after: str = ""

    def with_arms(self, exams: Iterable[Sequence[Question]]) -> Defaults:
        """The settings of a study with control arms that have these exam questions.

        The exam asks one more question about each arm than may be answered wrongly, and as many more have to be correct: whoever
        does an arm's tasks wrongly fails, and the other pools are asked as often as without arms.
        """
        enough = self.exam_questions - self.pass_mark + 1
        more = sum(min(len(exam), enough) for exam in exams) if self.exam_questions else 0
        return replace(self, exam_questions=self.exam_questions + more, pass_mark=self.pass_mark + more)


@dataclass(frozen=True)
class Demo:
    """The type's study in the demo, made from ``annotator/demo/<name>.jsonl``."""

    #: If empty, the type's ``task_title``, or the heading of the first page if there is a study for each variant.
    title: str = ""
    #: If empty, a sentence with the type's title.
    summary: str = ""
    #: A study for each of the type's variants instead of one for all.
    by_variant: bool = False
    #: The share of the study's judgments that rehearsal raters make.
    fill: float = 0.75
    #: Whether the scripted simulator judges it too, and a report on it is computed.
    simulated: bool = False
    #: Raters of each item, by arm ("" has the explanation), in a further study whose report says what explanations add, and
    #: its title; none: there is no such study.
    gain: Mapping[str, int] = field(default_factory=dict)
    gain_title: str = ""
    #: The type whose demo study shares this one's instances; a report is computed across both. Empty if there is none.
    report_with: str = ""


@dataclass(frozen=True)
class ChatMessage:
    """One message of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    content: str
