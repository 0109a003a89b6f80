"""Addresses that every task page needs. ``reverse`` takes a twentieth of a page's time, so its results are kept."""

from __future__ import annotations

from functools import lru_cache

from django.urls import reverse

#: Stands for the task in the address that is taken apart.
_ANY_TASK = 9_876_543_210


def task_url(name: str, assignment_pk: int) -> str:
    """The address of one task's view, ``submit`` for example."""
    before, after = _around_the_task(name)
    return f"{before}{assignment_pk}{after}"


@lru_cache
def _around_the_task(name: str) -> tuple[str, str]:
    before, _, after = reverse(f"annotator:{name}", args=[_ANY_TASK]).partition(str(_ANY_TASK))
    return before, after


@lru_cache(maxsize=2_000)
def study_url(name: str, slug: str) -> str:
    """The address of one study's view, ``leave`` for example."""
    return reverse(f"annotator:{name}", args=[slug])
