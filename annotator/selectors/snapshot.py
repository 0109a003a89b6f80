"""The content of snapshots. They never change, so each process reads each one only once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from annotator.models import Snapshot


@lru_cache(maxsize=256)
def snapshot_content(pk: int) -> dict[str, Any]:
    """The frozen content of a snapshot; treat it as read-only."""
    return Snapshot.objects.values_list("content", flat=True).get(pk=pk)
