"""Figures of large studies, kept for the researchers' pages and counted again in the background.

Counting a million judgments takes seconds; a page should not. A statement that goes over a whole study is declared as a
``StudyCount``. On the pages of a large study, inside ``figures_kept``, its rows come from the cache; if they are older than
``FRESH_SECONDS``, a job counts them again for the next visit. After a researcher's change they are counted again for the page that
follows, unless that took longer than ``SLOW_SECONDS`` the last time. A page with a time ``limit`` doesn't wait for a first count that
takes longer: a job counts it, and the page says so (``BeingCounted``). Everywhere else (services, exports, the API, small
studies) and without a cache, the statement is executed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, ClassVar

from django.core.cache import cache
from django.db import connection

from annotator.core.jobs import enqueue
from annotator.core.replica import reading_from
from annotator.core.time_limit import TooSlow, time_limit

#: A study with at least this many judgments is large.
LARGE = 20_000
#: Older figures are counted again in the background.
FRESH_SECONDS = 30
#: What took longer to count isn't counted again in a request after a researcher has changed something, but by a job.
SLOW_SECONDS = 2
#: How long a page waits for all figures that have never been counted; then a job counts them.
FIRST_SECONDS = 4
#: What it waits for each further one when that time is over.
NEXT_SECONDS = 0.1
#: For this long, a page waits for the job that counts something for the first time.
ASKED_SECONDS = 300
#: Figures that nobody has looked at for this long are forgotten.
KEPT_SECONDS = 24 * 3600
#: What took longer than ``SLOW_SECONDS`` to count is kept longer, because a request would have to wait for it.
SLOW_KEPT_SECONDS = 60 * KEPT_SECONDS

Values = Mapping[str, Any] | Sequence[Any]


@dataclass
class Kept:
    """The studies of a page, and when each figure on it was counted."""

    studies: tuple[int, ...]
    #: How many seconds the page still waits for figures that were never counted; None: as long as it takes.
    limit: float | None = None
    counted: list[datetime] = field(default_factory=list)

    @property
    def since(self) -> datetime | None:
        """When the oldest stored figure of the page was counted; None if all were counted for this page."""
        return min(self.counted, default=None)


_page: ContextVar[Kept | None] = ContextVar("kept_figures", default=None)


@contextmanager
def figures_kept(*studies: int, limit: float | None = None) -> Iterator[Kept]:
    """Use the stored figures of these studies in this block; none without studies. With a ``limit``, whoever begins the block expects
    ``BeingCounted``."""
    kept = Kept(studies, limit)
    token = _page.set(kept if studies else None)
    try:
        yield kept
    finally:
        _page.reset(token)


def figures_since() -> datetime | None:
    """When the oldest stored figure of the page so far was counted."""
    kept = _page.get()
    return kept.since if kept else None


def figures_changed(study_pk: int) -> None:
    """Have a study's figures counted again for its next page, because a researcher has changed something."""
    cache.set(_changed(study_pk), time.time(), KEPT_SECONDS)


def first_limit() -> float | None:
    """The time limit of the page, for a block of ``figures_kept`` inside another one."""
    kept = _page.get()
    return kept.limit if kept else None


class BeingCounted(Exception):
    """A figure of the page was never counted, and that takes too long for a request: a job does it."""


class StudyCount:
    """A statement over a whole study, or a function that returns its rows. ``name`` is unique; values must be plain JSON.

    >>> StudyCount("items of a study", "SELECT count(*) FROM annotator_item WHERE study_id = %s").name
    'items of a study'
    """

    declared: ClassVar[dict[str, StudyCount]] = {}

    def __init__(
        self, name: str, sql: str = "", *, count: Callable[..., list[tuple[Any, ...]]] | None = None
    ) -> None:
        self.name, self.sql, self.count = name, sql, count
        self.declared[name] = self

    def rows(self, values: Values) -> list[tuple[Any, ...]]:
        """The rows; on the page of a large study, the stored ones."""
        kept = _page.get()
        if kept is None:
            return self._execute(values)
        key = self._key(values)
        changes = [_changed(study) for study in kept.studies]
        cached = cache.get_many([key, *changes])
        entry = cached.get(key)
        if entry is None:
            return self._first(values, kept.limit)
        changed = any(cached.get(change, 0) >= entry["at"] for change in changes)
        if changed and entry.get("took", 0) < SLOW_SECONDS:
            return self.renew(values)
        if (changed or time.time() - entry["at"] > FRESH_SECONDS) and cache.add(
            f"{key}:asked", 1, FRESH_SECONDS
        ):
            enqueue("annotator.figures_renew", figures=self.name, values=values)
        kept.counted.append(datetime.fromtimestamp(entry["at"], UTC))
        return _read(entry["rows"])

    def rows_by_job(self, values: Values) -> list[tuple[Any, ...]] | None:
        """As ``rows``, but for the page of a large study nothing is counted in the request: None until a job has counted it.

        If no job has done so after ``ASKED_SECONDS``, or without a cache, it's counted in the request after all.
        """
        kept, asked = _page.get(), f"{self._key(values)}:first"
        if kept is None or cache.get(self._key(values)) is not None:
            return self.rows(values)
        if cache.add(asked, time.time(), KEPT_SECONDS):
            enqueue("annotator.figures_renew", figures=self.name, values=values)
        since = cache.get(asked)
        if since is None:
            return self._execute(values)
        return None if time.time() - since < ASKED_SECONDS else self.renew(values)

    def rows_if_slow(self, values: Values, *, limit: float) -> list[tuple[Any, ...]]:
        """The rows as they are now; on the page of a large study, if they take longer than ``limit`` seconds, as a job has counted them."""
        kept = _page.get()
        if kept is None or kept.limit is None:
            return self._execute(values)
        entry = cache.get(self._key(values))
        if entry is None:
            return self._first(values, limit, keep=False)
        return self.rows(values) if entry["took"] > limit else self._execute(values)

    def _first(self, values: Values, limit: float | None, *, keep: bool = True) -> list[tuple[Any, ...]]:
        """Count for the first time. Raises ``BeingCounted`` if that takes longer than the limit, or a job is about to do it."""
        asked = f"{self._key(values)}:first"
        if limit is None:
            return self.renew(values)
        since = cache.get(asked)
        if since is not None:
            if time.time() - since < ASKED_SECONDS:
                raise BeingCounted
            return self.renew(values)  # no worker has done it
        began = time.monotonic()
        try:
            return self.renew(values, limit=limit) if keep else self._execute(values, limit)
        except TooSlow:
            cache.add(asked, time.time(), ASKED_SECONDS * 2)
        finally:
            kept = _page.get()
            if kept is not None and kept.limit is not None:
                kept.limit = max(kept.limit - (time.monotonic() - began), NEXT_SECONDS)
        if cache.get(asked) is None:  # there is no cache that a job could write to
            return self.renew(values)
        enqueue("annotator.figures_renew", figures=self.name, values=values)
        raise BeingCounted

    def renew(self, values: Values, *, limit: float | None = None) -> list[tuple[Any, ...]]:
        """Count now and store the rows. Raises ``TooSlow`` if that takes longer than ``limit`` seconds."""
        at = time.time()
        rows = self._execute(values, limit)
        entry: dict[str, Any] = {"at": at, "took": time.time() - at, "rows": _written(rows)}
        slow = entry["took"] > SLOW_SECONDS
        cache.set(self._key(values), entry, SLOW_KEPT_SECONDS if slow else KEPT_SECONDS)
        return rows

    def _execute(self, values: Values, limit: float | None = None) -> list[tuple[Any, ...]]:
        reading = reading_from() if self.count is None else connection
        with time_limit(limit, using=reading) if limit is not None else nullcontext():
            if self.count is not None:
                return self.count(*values)
            with reading.cursor() as cursor:
                cursor.execute(self.sql, values)
                return cursor.fetchall()

    def _key(self, values: Values) -> str:
        text = json.dumps([self.name, self.sql, values], sort_keys=True)
        return f"figures:{sha256(text.encode()).hexdigest()}"


def _changed(study_pk: int) -> str:
    return f"figures:changed:{study_pk}"


def _written(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows as JSON: what JSON doesn't have becomes an object that names its type."""

    def plain(value: Any) -> Any:
        if isinstance(value, Decimal):
            return {"decimal": str(value)}
        return {"time": value.isoformat()} if isinstance(value, datetime) else value

    return [[plain(value) for value in row] for row in rows]


def _read(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    def value_of(plain: Any) -> Any:
        if not isinstance(plain, dict):
            return plain
        return Decimal(plain["decimal"]) if "decimal" in plain else datetime.fromisoformat(plain["time"])

    return [tuple(value_of(plain) for plain in row) for row in rows]
