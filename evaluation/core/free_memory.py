"""Give memory that was freed back to the operating system."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


@cache
def _malloc_trim() -> Any:
    """glibc's ``malloc_trim``; None with other C libraries, which have no such function."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # musl; no dynamic loading; Windows
        return None


def return_free_memory() -> None:
    """Return freed memory to the operating system, for use after reading a large table.

    glibc keeps what was freed in many pieces: 36 MB after parsing a million rows, which the statistics then take again in
    other sizes. (``release_unused`` of pyarrow's system pool doesn't return it.) Does nothing without glibc.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
