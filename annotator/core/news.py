"""News about studies that researchers can get emails about: each application registers its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class News:
    """One piece of news about a study.

    ``kind`` is one of ``NoticeChoices.KINDS``. ``key`` distinguishes it from other news about the study: the same key isn't
    sent to anybody twice. ``path`` is the page where something can be done about it, ``at`` when it happened; None for
    what is the case now.
    """

    study: int
    kind: str
    key: str
    text: str
    path: str
    at: datetime | None = None


#: Called with live and paused studies; returns the news about them.
Source = Callable[[Sequence[Any]], Iterable[News]]
_SOURCES: dict[str, tuple[Source, frozenset[str]]] = {}


def news_source(name: str, source: Source, *kinds: str) -> None:
    """Register an application's news of these kinds; called when the application starts."""
    _SOURCES[name] = (source, frozenset(kinds))


def news_of(studies: Sequence[Any], kinds: Collection[str]) -> list[News]:
    """The news of these kinds about these studies. A source of other kinds isn't asked."""
    if not studies:
        return []
    asked = [source for source, made in _SOURCES.values() if made & set(kinds)]
    return [news for source in asked for news in source(studies) if news.kind in kinds]
