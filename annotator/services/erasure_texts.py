"""Removal of erased people's names from the texts that stay: other people's answers and comments, researchers' notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import JSONField, Model, QuerySet

from annotator.core.canonical import digest_of
from annotator.core.kept_elsewhere import cleaned
from annotator.core.spellings import Names, letters_of, long_enough, ordinary, telling
from annotator.core.words import listed, plural
from annotator.hit_types.base import HitType
from annotator.hit_types.confidence import answer_of
from annotator.models import (
    Adjudication,
    Assignment,
    DataRequest,
    ExamAnswer,
    Exclusion,
    FileImport,
    Item,
    Judgment,
    LedgerEntry,
    Message,
    Participation,
    PersonalLink,
    Qualification,
    QualificationEvent,
    Rater,
    ReviewDecision,
    StageCommit,
    Study,
)
from annotator.selectors.free_text import fields_by_kind
from annotator.selectors.study import known_hit_type

NOTE = "[name removed]"
#: A name that is an ordinary word stays in the texts if more than this many other people use it.
MOST_OTHERS = 3
#: More different labels of one study are texts rather than a list to choose from.
MOST_LABELS = 200
#: At most this many items are listed by name.
LISTED = 5
_CHUNK = 2_000


@dataclass(frozen=True)
class StoredTexts:
    """Columns of texts that people write. ``study`` and ``rater`` are the paths to the study and to who wrote it; ``payload`` is the
    path to what was asked, if a column holds a response."""

    model: type[Model]
    columns: tuple[str, ...]
    study: str = "study"
    rater: str = ""
    payload: str = ""


STORED = (
    StoredTexts(Judgment, ("response",), rater="rater", payload="item__payload"),
    StoredTexts(
        StageCommit,
        ("response",),
        "assignment__item__study",
        "assignment__rater",
        "assignment__item__payload",
    ),
    StoredTexts(Assignment, ("draft", "reason"), "item__study", "rater", "item__payload"),
    StoredTexts(
        ExamAnswer,
        ("response",),
        "attempt__participation__study",
        "attempt__participation__rater",
        "question__payload",
    ),
    StoredTexts(Adjudication, ("response",), payload="item__payload"),
    StoredTexts(Exclusion, ("reason",)),
    StoredTexts(ReviewDecision, ("text", "fault")),
    StoredTexts(Item, ("withdrawn_reason",)),
    StoredTexts(Message, ("text",), rater="rater"),
    StoredTexts(LedgerEntry, ("reason",)),
    StoredTexts(DataRequest, ("note",)),
    StoredTexts(Qualification, ("reason",), "attempt__participation__study"),
    StoredTexts(QualificationEvent, ("reason",), "qualification__attempt__participation__study"),
    StoredTexts(FileImport, ("problems", "result", "error")),
)


def identifiers_of(*, study: Study, rater: Rater) -> set[str]:
    """Everything by which a person is known in a study: name, username, email address, ids of panels, and what the list of personal
    links says about them."""
    found = set() if rater.is_numbered else {rater.name}
    if rater.user is not None:
        user = rater.user
        found |= {user.username, user.email, user.first_name, user.last_name, user.get_full_name()}
    for joined in Participation.objects.filter(study=study, rater=rater):
        found |= {joined.recruiter_id, joined.recruiter_session, *names_listed(joined)}
        for name, value in joined.join_parameters.items():
            same = Participation.objects.filter(study=study, **{f"join_parameters__{name}": value})
            if telling(str(value)) and same.count() == 1:
                found.add(str(value))
    return {text for text in found if text}


def names_listed(participation: Participation) -> set[str]:
    """What the study's list of personal links says about somebody who came by one."""
    rows = PersonalLink.objects.filter(study=participation.study_id, person=participation.recruiter_id)
    return {text for row in rows.values_list("name", "email", "own_id") for text in row if text}


class NameRemover:
    """Takes people's names out of texts, in any spelling. A name that could be an ordinary word is removed only where it is a word
    of its own: the text then stays as its author wrote it, which the removal of all letters "anna" would not allow."""

    def __init__(self, identifiers: Iterable[str]) -> None:
        names = {identifier for identifier in identifiers if long_enough(letters_of(identifier))}
        self.ordinary = {name for name in names if ordinary(name)}
        self._anywhere = Names(names - self.ordinary)
        self._words = {one: Names([one]) for one in sorted(self.ordinary)}
        self._any = Names(names)

    def without(self, names: set[str]) -> NameRemover:
        """The same, but for some of the ordinary words."""
        other = NameRemover(())
        other.ordinary = self.ordinary - names
        other._anywhere = self._anywhere
        other._words = {one: found for one, found in self._words.items() if one not in names}
        other._any = self._any
        return other

    def text(self, text: str) -> str:
        """The text with a note in place of each name."""
        if not self._any.within(text):
            return text
        spans = self._anywhere.spans(text)
        spans += [span for names in self._words.values() for span in names.spans(text, whole=True)]
        pieces, at = [], 0
        for start, end in sorted(spans):
            if start >= at:
                pieces += [text[at:start], NOTE]
            at = max(at, end)
        return "".join([*pieces, text[at:]])

    def found(self, text: str) -> bool:
        return self.text(text) != text

    def words_in(self, text: str) -> set[str]:
        """The ordinary words among the names that are in a text."""
        if not self._any.within(text):
            return set()
        return {name for name, names in self._words.items() if names.spans(text, whole=True)}


def names_remove(*, study: Study, identifiers: Iterable[str]) -> tuple[Callable[[str], str], list[str]]:
    """Take names out of all texts that are stored with a study; the caller has removed the people's own rows.

    Returns the function that cleans a text, for what other applications store, and what stays, in sentences: ordinary words
    that several others use, and items whose material has one of the names.
    """
    remover = NameRemover(identifiers)
    kind, used = known_hit_type(study), defaultdict(set)
    hits: list[tuple[StoredTexts, str, int]] = []
    for texts in STORED:
        for column in texts.columns:
            for pk, value, *by in _found(texts, column, study, remover):
                hits.append((texts, column, pk))
                for word in (
                    {word for text in _strings(value) for word in remover.words_in(text)} if by else ()
                ):
                    used[word].add(by[0])
    common = {word for word, raters in used.items() if len(raters) > MOST_OTHERS}
    remover = remover.without(common)
    labels = _labels(study, kind) if hits else set()
    for texts, column, pk in hits:
        _clean(texts, column, pk, kind, labels, remover.text)
    return remover.text, _left(study, remover, common)


def _found(texts: StoredTexts, column: str, study: Study, remover: NameRemover) -> Iterator[tuple[Any, ...]]:
    """(number, value, who wrote it) of the rows with a name in this column. Millions of answers are often a few different ones, so of
    answers each different one is read once."""
    empty = {} if isinstance(texts.model._meta.get_field(column), JSONField) else ""
    rows = _rows(texts, study).exclude(**{column: empty})
    told = rows.values_list("pk", column, *([texts.rater] if texts.rater else []))
    if texts.model not in (Judgment, StageCommit):
        for row in told.iterator(chunk_size=_CHUNK):
            if any(map(remover.found, _strings(row[1]))):
                yield row
        return
    different = rows.values_list(column, flat=True).distinct().iterator(chunk_size=_CHUNK)
    named = [value for value in different if any(map(remover.found, _strings(value)))]
    for start in range(0, len(named), _CHUNK):
        yield from told.filter(**{f"{column}__in": named[start : start + _CHUNK]}).iterator(chunk_size=_CHUNK)


def _rows(texts: StoredTexts, study: Study) -> QuerySet[Any]:
    return texts.model._default_manager.filter(**{texts.study: study}).order_by()


def _strings(value: Any) -> Iterator[str]:
    """Every text in some JSON, but for the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(one)


def _clean(
    texts: StoredTexts,
    column: str,
    pk: int,
    kind: HitType | None,
    labels: set[str],
    clean: Callable[[str], str],
) -> None:
    """Clean one column of one row. Answers that were chosen from a list stay."""
    rows = texts.model._default_manager.filter(pk=pk)
    value = rows.values_list(column, flat=True).get()
    if texts.payload and isinstance(value, dict):
        fields = fields_by_kind(kind, rows.values_list(texts.payload, flat=True).get())
        chosen = {name for name, written in fields.items() if not written}
        new: Any = {
            name: one if name in chosen or (isinstance(one, str) and one in labels) else cleaned(one, clean)
            for name, one in value.items()
        }
    else:
        new = cleaned(value, clean)
    if new != value:
        also = {"digest": digest_of(answer_of(kind, new) if kind else new)} if texts.model is Judgment else {}
        rows.update(**{column: new}, **also)


def _labels(study: Study, kind: HitType | None) -> set[str]:
    """The labels of a study whose labels were collected elsewhere, unless they are too many to be a list."""
    if kind is None or not kind.external:
        return set()
    found: set[str] = set()
    for response in Judgment.objects.filter(study=study).values_list("response", flat=True).iterator():
        found.update(one for one in response.values() if isinstance(one, str))
        if len(found) > MOST_LABELS:
            return set()
    return found


def _left(study: Study, remover: NameRemover, common: set[str]) -> list[str]:
    said = []
    if common:
        said.append(
            f"{listed([f'“{word}”' for word in sorted(common)])} {'is' if len(common) == 1 else 'are'} also used by other participants, "
            "as an ordinary word, and stays in their texts."
        )
    rows = Item.objects.filter(study=study).order_by("pk").values_list("key", "payload")
    found = lru_cache(_CHUNK)(remover.found)  # neighbouring items share an explanation and a question
    keys = [
        key for key, payload in rows.iterator(chunk_size=_CHUNK) if any(map(found, _strings([key, payload])))
    ]
    if keys:
        shown = listed([*keys[:LISTED], *([f"{len(keys) - LISTED:,} more"] if len(keys) > LISTED else [])])
        said.append(
            f"The material of {plural(len(keys), 'item')} has a name of this person: {shown}. Material isn't changed by a deletion, because "
            "others have judged it. Correct or withdraw it."
        )
    return said
