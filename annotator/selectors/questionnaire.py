"""Which questionnaires a person is asked, what they answered, and how many gave each answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from annotator.models import Assignment, Participation, QuestionnaireAnswer, Study
from annotator.selectors.consent import consented
from annotator.selectors.snapshot import snapshot_content

if TYPE_CHECKING:
    from annotator.hit_types.declaration.questionnaire import Questionnaire

BEFORE, AFTER = QuestionnaireAnswer.Moment.BEFORE, QuestionnaireAnswer.Moment.AFTER


def questionnaire_text(participation: Participation, moment: str) -> str:
    """The files that a person is asked at a moment; empty if there are none."""
    if participation.study.snapshot_id is None:
        return ""
    return str(snapshot_content(participation.study.snapshot_id).get(f"questionnaire_{moment}", ""))


def questionnaires_of(text: str) -> tuple[Questionnaire, ...]:
    """The questionnaires of files that a study has stored."""
    from annotator.hit_types.declaration.questionnaire import questionnaires_read

    return questionnaires_read(text)


def questionnaire_due(participation: Participation, moment: str) -> bool:
    """Whether a person is to be asked now; no query if the study asks nothing then.

    Before the tasks: they haven't answered, and haven't done a task yet. After them: they have done tasks and are through, or have
    left; who doesn't consent any more, was removed, or whose panel has ended the submission isn't asked.
    """
    if not questionnaire_text(participation, moment):
        return False
    if participation.questionnaires.filter(moment=moment).exists():
        return False
    submitted = participation.assignments.filter(state=Assignment.State.SUBMITTED).exists()
    if moment == BEFORE:
        return not submitted
    over = participation.finished_at is not None and participation.state != Participation.State.REMOVED
    return submitted and over and not participation.panel_ended and consented(participation)


def questionnaire_said(given: QuestionnaireAnswer, translate: Callable[[str], str] = str) -> dict[str, str]:
    """What somebody answered, by question, in the words of the questionnaires that they saw."""
    text = given.snapshot.content.get(f"questionnaire_{given.moment}", "") if given.snapshot else ""
    return {
        asked: said
        for questionnaire in questionnaires_of(text)
        for asked, said in questionnaire.said(given.response.get(questionnaire.name, {}), translate)
    }


@dataclass(frozen=True)
class ValueCount:
    """How many people have a value of an attribute."""

    text: str
    count: int


@dataclass(frozen=True)
class AttributeCount:
    """An attribute that a questionnaire gives: its name in reports, what it is in words, how many people have a value, and the
    most frequent values. ``least``, ``middle`` and ``most`` are given if all values are numbers."""

    name: str
    title: str
    answered: int
    values: tuple[ValueCount, ...]
    distinct: int
    least: float | None = None
    middle: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class QuestionnaireCount:
    """The answers at one moment: ``asked`` people saw the page, and ``blank`` of them left all of it blank."""

    moment: str
    title: str
    asked: int
    blank: int
    attributes: tuple[AttributeCount, ...]


#: How many values of an attribute are listed at most.
LISTED = 20


def questionnaire_counts(*, study: Study) -> list[QuestionnaireCount]:
    """How many people of a study gave each answer, before and after the tasks; rehearsals don't count. One query.

    Titles are those of the study's current questionnaires; attributes of earlier ones are listed under their names.
    """
    rows = list(
        QuestionnaireAnswer.objects.filter(participation__study=study, participation__rater__rehearsal=False)
        .order_by("pk")
        .values_list("moment", "response", "attributes")
    )
    found = []
    for moment in (BEFORE, AFTER):
        text = getattr(study, f"questionnaire_{moment}")
        held = [(response, attributes) for of, response, attributes in rows if of == moment]
        if text or held:
            found.append(_counted(moment, text, held))
    return found


def _counted(moment: str, text: str, held: list[tuple[Any, Any]]) -> QuestionnaireCount:
    titles = {
        f"{moment}.{questionnaire.name}.{name}": title
        for questionnaire in questionnaires_of(text)
        for name, title in questionnaire.titles.items()
    }
    values: dict[str, Counter[str]] = {name: Counter() for name in titles}
    for _, attributes in held:
        for name, value in attributes.items():
            values.setdefault(name, Counter())[value] += 1
    return QuestionnaireCount(
        moment=moment,
        title=QuestionnaireAnswer.Moment(moment).label,
        asked=len(held),
        blank=sum(not any(response.values()) for response, _ in held),
        attributes=tuple(_attribute(name, titles.get(name, name), counts) for name, counts in values.items()),
    )


def _attribute(name: str, title: str, counts: Counter[str]) -> AttributeCount:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    try:
        numbers = sorted(float(value) for value in counts.elements())
    except ValueError:
        numbers = []
    ends = (numbers[0], float(median(numbers)), numbers[-1]) if numbers else (None, None, None)
    return AttributeCount(
        name,
        title,
        counts.total(),
        tuple(ValueCount(value, n) for value, n in ranked[:LISTED]),
        len(ranked),
        *ends,
    )
