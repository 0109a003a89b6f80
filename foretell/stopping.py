"""Stop ``make run`` where a signal can't leave anything half done: between steps and while waiting.

The signal handler only notes the signal. If it raised an exception, that could happen between any two instructions of the
main thread, for example after ``Popen.poll`` has taken the lock of the process and before it can release it: waiting for
that process would then never end.
"""

from __future__ import annotations

import signal
import time
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: The names of the signals received.
signals: list[str] = []


class Stopping(BaseException):
    """A signal asked this process to stop. Not an ``Exception``, so that ``except Exception`` doesn't catch it."""


def stop_on_signals() -> None:
    """Note each stop signal from now on. Call it from the main thread."""
    for sig in STOP_SIGNALS:
        signal.signal(sig, note_signal)


def note_signal(number: int, frame: FrameType | None) -> None:
    signals.append(signal.Signals(number).name)


def ignore_stop_signals() -> None:
    """Stopping takes a few seconds, and a second Ctrl-C doesn't make it quicker."""
    for sig in STOP_SIGNALS:
        signal.signal(sig, signal.SIG_IGN)


def stop_if_asked() -> None:
    """Raise ``Stopping`` if a signal has been received."""
    if signals:
        raise Stopping(signals[0])


def pause(seconds: float) -> None:
    """Sleep, then raise ``Stopping`` if a signal has been received. Keep ``seconds`` short: a signal doesn't end the sleep."""
    time.sleep(seconds)
    stop_if_asked()
