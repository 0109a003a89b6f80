"""Restart an embedded server whenever it isn't running, also if it ended while it was being restarted."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from foretell.embedded.errors import EmbeddedError

LONGEST_WAIT = 30.0


class Server(Protocol):
    child: subprocess.Popen[bytes] | None

    def start(self) -> None:
        """Start the server; return when it's ready, or raise ``EmbeddedError``, after which ``child`` is None."""


@dataclass
class WatchedServer:
    """A server that has been started once. ``failures`` counts the starts in a row that failed."""

    name: str
    server: Server
    failures: int = 0
    retry_at: float = 0.0

    def running(self) -> bool:
        return self.server.child is not None and self.server.child.poll() is None

    def check(self, say: Callable[[str], None]) -> None:
        """Restart the server if it has ended: at once, and after longer and longer waits while starts fail."""
        if self.running() or time.monotonic() < self.retry_at:
            return
        say(f"{self.name} ended; restarting it")
        try:
            self.server.start()
        except (EmbeddedError, OSError) as error:
            self.failures += 1
            wait = min(0.5 * 2**self.failures, LONGEST_WAIT)
            self.retry_at = time.monotonic() + wait
            say(f"{error}\nTrying again in {wait:.0f} s")
        else:
            self.failures = 0
