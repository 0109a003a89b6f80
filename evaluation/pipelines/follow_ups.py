"""What the steps that write follow-ups share: exact duplicates, and the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON
from annotator.models import FollowUp
from evaluation.models import Call


def same(text: str) -> str:
    """The text in lower case and without spacing, by which two follow-ups are exact duplicates.

    >>> same("Can  owls swim?") == same("can owls swim?")
    True
    """
    return " ".join(text.split()).casefold()


def texts_by(rows: Iterable[tuple[int, str]]) -> dict[int, set[str]]:
    """The existing follow-ups of each row, as ``same`` gives them, from pairs of the row's number and a text."""
    texts: dict[int, set[str]] = {}
    for pk, text in rows:
        texts.setdefault(pk, set()).add(same(text))
    return texts


def follow_up(*, text: str, generator: str, kind: str, **fields: Any) -> FollowUp:
    """An unsaved follow-up."""
    generator = generator[:200]
    digest = text_digest(text, generator, kind)
    return FollowUp(text=text, generator=generator, kind=kind, digest=digest, **fields)


def follow_ups_store(
    rows: list[FollowUp], results: Iterable[tuple[Call, int, JSON]], doubled: Mapping[int, int]
) -> None:
    """Store new follow-ups and record, with each stored reply, how many of its follow-ups existed already."""
    FollowUp.objects.bulk_create(rows, ignore_conflicts=True)
    for call, _, parsed in results:
        if doubled[call.pk]:
            call.parsed = parsed | {"duplicates_of_others": doubled[call.pk]}
            call.save(update_fields=["parsed"])
