"""Ends a command that takes too long or too much memory, because a file from elsewhere asks for it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

#: How often time and memory are looked at, in seconds; and when first.
_EVERY, _FIRST = 0.5, 0.02
_AGAIN = 10.0


@contextmanager
def limits(*, minutes: float, megabytes: int, error: type[Exception]) -> Iterator[None]:
    """Raise ``error`` in the block once it has run this long, or the process has this much memory more than before.

    In another thread than the main one, where signals can't be handled, it has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    process, end = psutil.Process(), time.monotonic() + minutes * 60
    most = process.memory_info().rss + megabytes * 2**20
    hit: list[str] = []

    def look(number: int, frame: Any) -> None:
        if time.monotonic() > end:
            hit.append(f"it takes longer than {minutes:g} minutes; --minutes allows more")
        elif process.memory_info().rss > most:
            hit.append(f"it needs more than {megabytes:,} MB of memory; --memory allows more")
        if hit:
            # What is interrupted may take a moment to clean up.
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
            raise error(hit[0])

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _FIRST, _EVERY)
    try:
        yield
    except Exception as other:
        # A half-finished query may fail for a reason of its own.
        if hit:
            raise error(hit[0]) from other
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
