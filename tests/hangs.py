"""A test that hangs: note where its code waits, and end its process, which xdist replaces; the others go on.

``faulthandler_timeout`` does the same later and shows the threads only. A test with a browser waits in a greenlet, which no
thread's stack shows. `python -m tests.second_try` prints the notes.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Seconds for a test with processes or a browser, and for those that take minutes by themselves.
LIMIT, LONG = 600.0, 1200.0
LONGEST = (
    "tests/e2e/test_every_page.py",
    "tests/e2e/test_newcomer.py",
    "tests/e2e/test_study_end_to_end.py",
    "tests/faults/test_control_arms_race.py",
    "tests/faults/test_first_start.py",
    "tests/faults/test_panel_crowd.py",
    "tests/faults/test_wheel.py",
)
NOTES = Path(__file__).parents[1] / ".pytest_cache/v/foretell/hangs"
#: As many lines of each stack, those nearest to where it waits.
_LINES = 25


def limit(nodeid: str) -> float:
    """How long a test may take.

    >>> limit("tests/e2e/test_newcomer.py::test_a"), limit("tests/e2e/test_keys.py::test_b")
    (1200.0, 600.0)
    """
    return LONG if nodeid.startswith(LONGEST) else LIMIT


#: What will end the process, while a test is running.
_timers: list[threading.Timer] = []


@contextmanager
def watched(nodeid: str, *, seconds: float, end: Callable[[int], object] = os._exit) -> Iterator[None]:
    """End the process with ``end`` if the body takes longer."""
    timer = threading.Timer(seconds, _stop, [nodeid, end])
    timer.daemon = True
    timer.start()
    _timers.append(timer)
    try:
        yield
    finally:
        release()


def release() -> None:
    """Let the test that is running take as long as it likes, as when somebody looks at it in a debugger."""
    while _timers:
        _timers.pop().cancel()


def _stop(nodeid: str, end: Callable[[int], object]) -> None:
    try:
        NOTES.mkdir(parents=True, exist_ok=True)
        (NOTES / f"{os.getpid()}.txt").write_text(f"{nodeid}\n{stacks()}", encoding="utf-8")
    finally:
        end(1)


def stacks() -> str:
    """Where every greenlet and thread of this process is."""
    found = [("thread", frame) for frame in sys._current_frames().values()]
    if greenlets := sys.modules.get("greenlet"):
        gc.unfreeze()  # what was collected first is hidden from ``get_objects``
        # By type: ``isinstance`` asks lazy objects for their class, which evaluates them.
        held = [one for one in gc.get_objects() if issubclass(type(one), greenlets.greenlet)]
        gc.freeze()
        found += [("greenlet", one.gr_frame) for one in held if one.gr_frame is not None]
    return "\n".join(f"{kind}\n{''.join(traceback.format_stack(frame)[-_LINES:])}" for kind, frame in found)


def notes() -> str:
    """What was noted of tests that hung; empty if none did."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(NOTES.glob("*.txt")))
