"""What people and models wrote in a study, for reading: texts aren't measured, but they can be searched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform

from annotator.hit_types.base import JSON, HitType
from annotator.models import Judgment, Rater, Study
from annotator.selectors.judgment import REHEARSAL_LEFT_OUT, ExclusionReasons
from annotator.selectors.study import known_hit_type

#: Judgments of a page, and those that one request looks through before it says where to go on.
PAGE, MOST_SEARCHED = 50, 50_000
#: Characters of what is searched for.
LONGEST = 200
#: Items of the first and of the last judgments whose questions are looked at: they may be in different arms.
LOOKED_AT = 50


@dataclass(frozen=True)
class WrittenAnswer:
    """One text that somebody wrote: to which question, and why it's excluded, if it is."""

    judgment: Judgment
    question: str
    asked: str
    text: str
    excluded: str

    def parts(self, sought: str) -> list[tuple[str, bool]]:
        """The text in parts, those that were sought marked.

        >>> WrittenAnswer(Judgment(), "why", "Why?", "An owl, owls.", "").parts("OWL")
        [('An ', False), ('owl', True), (', ', False), ('owl', True), ('s.', False)]
        """
        if not sought:
            return [(self.text, False)]
        found = re.split(f"({re.escape(sought)})", self.text, flags=re.IGNORECASE)
        return [(part, place % 2 == 1) for place, part in enumerate(found) if part]


@dataclass(frozen=True)
class WrittenPage:
    """A page of texts. ``after`` is the id of the judgment after which the next one begins, None at the end; ``searched`` is whether
    the page ends because so many judgments were looked through, not because it is full."""

    answers: list[WrittenAnswer]
    after: int | None = None
    searched: bool = False


def written_questions(study: Study) -> dict[str, str]:
    """The questions of a study that are answered in words: name -> the question. Numbers and marked passages aren't."""
    kind = known_hit_type(study)
    if kind is None or kind.external:
        return {}
    payloads = study.judgments.values_list("item__payload", flat=True)
    found: dict[str, str] = {}
    for payload in payloads.order_by("id")[:LOOKED_AT].union(payloads.order_by("-id")[:LOOKED_AT], all=True):
        found = _asked(kind, payload) | found
    return found


def _asked(kind: HitType, payload: JSON) -> dict[str, str]:
    try:
        stages = kind.every_stage(payload)
    except (KeyError, TypeError, ValueError):  # of an earlier version of the type, which this one can't show
        return {}
    return {
        field.name: str(field.label)
        for stage in stages
        for field in stage.fields
        if field.kind == "text" and not field.bounds and not field.passages
    }


def written_answers(
    *, study: Study, questions: Mapping[str, str], sought: str = "", by: str = "", after: int = 0
) -> WrittenPage:
    """The texts that answer these questions and contain what is ``sought``, whatever the case, in the order in which they were
    submitted. ``by`` is a kind of rater; rehearsals are left out."""
    if not questions:
        return WrittenPage([])
    found = study.judgments.filter(REHEARSAL_LEFT_OUT, pk__gt=after)
    if by in Rater.Kind.values:
        found = found.filter(rater__kind=by)
    last = list(found.order_by("pk").values_list("pk", flat=True)[MOST_SEARCHED - 1 : MOST_SEARCHED])
    if last:
        found = found.filter(pk__lte=last[0])
    condition = Q()
    for place, name in enumerate(questions):
        text = f"text_{place}"
        found = found.alias(**{text: KeyTextTransform(name, "response")})
        condition |= Q(**{f"{text}__icontains": sought}) if sought else Q(**{f"{text}__gt": ""})
    page = list(
        found.filter(condition).select_related("item", "rater", "assignment").order_by("pk")[: PAGE + 1]
    )
    reasons = ExclusionReasons(study)
    answers = [
        answer for judgment in page[:PAGE] for answer in _answers(judgment, questions, sought, reasons)
    ]
    if len(page) > PAGE:
        return WrittenPage(answers, page[PAGE - 1].pk)
    return WrittenPage(answers, last[0], searched=True) if last else WrittenPage(answers)


def _answers(
    judgment: Judgment, questions: Mapping[str, str], sought: str, reasons: ExclusionReasons
) -> Iterator[WrittenAnswer]:
    excluded = reasons.of(judgment.pk, judgment.item_id, judgment.rater_id)
    for name, asked in questions.items():
        text = judgment.response.get(name)
        if isinstance(text, str) and text and sought.lower() in text.lower():
            yield WrittenAnswer(judgment, name, asked, text, excluded)


def sought_text(raw: str | None) -> str:
    """What is searched for, as it was typed.

    >>> sought_text("  an owl\\x00 ")
    'an owl'
    """
    return (raw or "").replace("\x00", "").strip()[:LONGEST]
