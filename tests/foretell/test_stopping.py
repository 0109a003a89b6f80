"""``make run`` stops whenever the signal arrives, also between two instructions where an exception would cause a deadlock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from foretell import env, stopping

#: A supervisor with one process. The signal arrives while `Popen.poll` holds the lock of that process, before the ``try`` that
#: releases it.
SIGNAL_INSIDE_POLL = """
import os, signal, sys
from foretell import run

class LockThatASignalInterrupts:
    def __init__(self, lock):
        self.lock = lock
        self.sent = False
    def acquire(self, *arguments):
        taken = self.lock.acquire(*arguments)
        if not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.SIGTERM)
        return taken
    def release(self):
        self.lock.release()
    def __enter__(self):
        self.lock.acquire()
    def __exit__(self, *_):
        self.lock.release()

def start(self):
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    service = self.service("sleeper", command, signal.SIGKILL, ((signal.SIGTERM, 30),))
    (self.data_dir / "logs").mkdir()
    service.start()
    service.process._waitpid_lock = LockThatASignalInterrupts(service.process._waitpid_lock)
    self.services = [service]

run.LocalInstallation.start = start
sys.exit(run.main())
"""


def test_a_signal_while_a_process_is_polled_stops_everything(tmp_path: os.PathLike[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNAL_INSIDE_POLL],
        cwd=env.ROOT,
        env={**os.environ, "DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[foretell] stopped; all data is kept\n"), done.stderr


def test_a_signal_ends_the_next_pause_and_nothing_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "signals", [])
    stopping.pause(0)
    stopping.note_signal(signal.SIGTERM, None)
    with pytest.raises(stopping.Stopping, match="SIGTERM"):
        stopping.pause(0)
