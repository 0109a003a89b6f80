"""Attributes of a study's items and raters, by which reports are grouped and filtered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from django.db.models import Max
from django.db.models.fields.json import KeyTextTransform

from annotator.models import ExamAttempt, Item, Participation, QuestionnaireAnswer, Rater
from annotator.recruitment.registry import person_parameters
from evaluation.core.filter_text import RATER, parse_filter
from evaluation.ratings.columns import Codes
from evaluation.ratings.judgments import Judgments, Raters

Mask = npt.NDArray[np.bool_]
#: Columns that every study's items have.
BUILT_IN = ("condition", "kind", "generator", "system", "dataset")
EXAM = "exam score"
FILTERED = "outside the filter {filter}"


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute, of ``items`` (codes of shape (items,)) or of raters (shape (raters,)); -1 means no value."""

    name: str
    of: Literal["items", "raters"]
    names: tuple[str, ...]
    codes: Codes


def attribute_names(judgments: Judgments) -> list[str]:
    """The attributes that a study's items or raters have a value of, those of items first."""
    items = Item.objects.filter(study=judgments.study).exclude(attributes={})
    own = {name for found in items.values_list("attributes", flat=True).distinct() for name in found}
    raters = {name for found in _rater_values(judgments).values() for name in found}
    built_in = [name for name in BUILT_IN if any(_item_values(judgments, name))]
    return [*built_in, *sorted(own - set(BUILT_IN)), *(f"{RATER}{name}" for name in sorted(raters))]


def attribute_load(judgments: Judgments, name: str) -> Attribute:
    """One attribute by its name. A study's own column is used if the built-in one is blank; raters' attributes begin with
    ``rater:``. Raises ``ValueError`` with the known names."""
    if name.startswith(RATER):
        values = _rater_values(judgments)
        key = name.removeprefix(RATER)
        texts = [values[int(pk)].get(key, "") for pk in judgments.raters.ids]
        if any(texts):
            return _coded(name, "raters", texts)
    else:
        texts = _item_values(judgments, name)
        if any(texts):
            return _coded(name, "items", texts)
    known = ", ".join(map(repr, attribute_names(judgments)))
    raise ValueError(f"no item or rater of the study has a value of {name!r}; the attributes are {known}")


def _item_values(judgments: Judgments, name: str) -> list[str]:
    items = judgments.items
    rows = Item.objects.filter(study=judgments.study).order_by("id")
    if name == "dataset":
        return [text or "" for text in rows.values_list("instance__dataset__name", flat=True)]
    found = rows.annotate(text=KeyTextTransform(name, "attributes")).values_list("text", flat=True)
    own = [text or "" for text in found]
    if name not in BUILT_IN:
        return own
    return [str(text) or other for text, other in zip(getattr(items, name).values(""), own, strict=True)]


def _rater_values(judgments: Judgments) -> dict[int, dict[str, str]]:
    """Each rater's attributes: those from an imported file, the panel's join parameters without
    those that name a person, the answers to questionnaires, and the best exam score."""
    ids = judgments.raters.ids.tolist()
    values: dict[int, dict[str, str]] = {pk: {} for pk in ids}
    for pk, found in Rater.objects.filter(pk__in=ids).values_list("pk", "attributes"):
        values[pk] |= _texts(found)
    ids_of_people = person_parameters()
    joined = Participation.objects.filter(study=judgments.study, rater__in=ids)
    for pk, found in joined.values_list("rater_id", "join_parameters"):
        values[pk] |= {name: text for name, text in _texts(found).items() if name not in ids_of_people}
    answered = QuestionnaireAnswer.objects.filter(participation__in=joined).exclude(attributes={})
    for pk, found in answered.values_list("participation__rater_id", "attributes"):
        values[pk] |= _texts(found)
    scores = ExamAttempt.objects.filter(participation__in=joined, score__isnull=False).order_by()
    for pk, score in scores.values_list("participation__rater_id").annotate(best=Max("score")):
        values[pk][EXAM] = str(score)
    return values


def _texts(found: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in found.items() if value not in (None, "")}


def _coded(name: str, of: Literal["items", "raters"], texts: list[str]) -> Attribute:
    names = sorted({text for text in texts if text})
    place = {text: code for code, text in enumerate(names)} | {"": -1}
    codes = np.fromiter((place[text] for text in texts), dtype=np.int32, count=len(texts))
    return Attribute(name, of, tuple(names), codes)


def judgments_filter(judgments: Judgments, text: str) -> Judgments:
    """The judgments that have one of the given values in every named attribute; the others are counted as left out.

    Items that the filter excludes are out of play, and raters who have no judgment left are removed.
    """
    kept = np.ones(len(judgments), dtype=bool)
    in_play = judgments.in_play.copy()
    for name, values in parse_filter(text).items():
        found = attribute_load(judgments, name)
        strange = sorted(set(values) - set(found.names))
        if strange:
            known = ", ".join(map(repr, found.names[:20]))
            raise ValueError(f"no {name!r} is {strange[0]!r}; there are {known}")
        wanted = np.isin(found.codes, [found.names.index(value) for value in values])
        kept &= wanted[judgments.item if found.of == "items" else judgments.rater]
        if found.of == "items":
            in_play &= wanted
    out = int((~kept).sum())
    left_out = {FILTERED.format(filter=text): out} if out else {}
    return judgments_part(judgments, kept, in_play, left_out=judgments.left_out | left_out)


def judgments_part(judgments: Judgments, kept: Mask, in_play: Mask, *, left_out: dict[str, int]) -> Judgments:
    """The judgments that are ``kept``, of shape (N,), without raters who have none left; ``in_play`` is of shape (items,)."""
    rater = judgments.rater[kept]
    used = np.zeros(len(judgments.raters.names), dtype=bool)
    used[rater] = True
    place = (np.cumsum(used) - 1).astype(np.int32)
    return replace(
        judgments,
        raters=_some(judgments.raters, used),
        rater=place[rater],
        item=judgments.item[kept],
        response=judgments.response[kept],
        in_play=in_play,
        left_out=left_out,
    )


def _some(raters: Raters, used: Mask) -> Raters:
    return Raters(
        ids=raters.ids[used],
        names=tuple(name for name, keep in zip(raters.names, used, strict=True) if keep),
        is_simulator=raters.is_simulator[used],
        is_rehearsal=raters.is_rehearsal[used],
        is_imported=raters.is_imported[used],
        is_numbered=raters.is_numbered[used],
    )
