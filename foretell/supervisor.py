"""Keep a few processes running: start them, restart those that end, and stop them in an orderly way."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from foretell.embedded.postgres import tail
from foretell.embedded.process import kill_group, spawn

MARK = "FORETELL_SUPERVISED_FROM"
LONGEST_WAIT = 30.0
STEADY_AFTER = 30.0
#: How long requests may take that began before their process was replaced.
FINISH_SECONDS = 10.0

Say = Callable[[str], None]


@dataclass
class Service:
    """One process to keep running. ``stop_steps`` are the signals that stop it and the seconds to wait after each.

    If it listens on a ``port`` in children of its own, they survive it when it's killed, and go on serving until its replacement does.
    """

    name: str
    command: list[str]
    log: Path
    environment: dict[str, str]
    on_parent_death: signal.Signals
    stop_steps: tuple[tuple[signal.Signals, float], ...]
    cwd: Path
    port: int = 0
    #: The process group that is being replaced, and when to kill it.
    replaced: int = 0
    replaced_until: float = 0.0
    process: subprocess.Popen[bytes] | None = None
    failures: int = 0
    started_at: float = 0.0
    retry_at: float = field(default=0.0)

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = spawn(
                self.command,
                cwd=self.cwd,
                env=self.environment,
                output=output,
                on_parent_death=self.on_parent_death,
            )
        self.started_at = time.monotonic()
        self.retry_at = 0.0

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def check(self, say: Say) -> None:
        """Restart the process if it has ended: at once the first time, then after longer and longer waits."""
        now = time.monotonic()
        if self.running():
            if self.failures and now - self.started_at > STEADY_AFTER:
                self.failures = 0
            if self.replaced:
                self._end_replaced(now)
            return
        if self.retry_at == 0.0 and self.process is not None:
            # Its own children survive a kill -9 of their parent.
            if self.port and listens(self.process.pid, self.port):
                self.kill_replaced()
                self.replaced, self.replaced_until = self.process.pid, 0.0
            else:
                kill_group(self.process.pid)
            wait = 0.0 if self.failures == 0 else min(0.5 * 2**self.failures, LONGEST_WAIT)
            self.retry_at = now + wait
            self.failures += 1
            say(
                f"{self.name} ended ({how_it_ended(self.process.returncode)}); restarting it"
                + (f" in {wait:.0f} s. Last lines of {self.log}:\n{tail(self.log, 5)}" if wait else "")
            )
        if now >= self.retry_at:
            self.start()

    def _end_replaced(self, now: float) -> None:
        """Once the new process serves, let the children of the old one finish their requests, then kill them."""
        if not self.replaced_until:
            if self.process is not None and listens(self.process.pid, self.port):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.replaced, signal.SIGTERM)
                self.replaced_until = now + FINISH_SECONDS
        elif now > self.replaced_until:
            self.kill_replaced()

    def kill_replaced(self) -> None:
        if self.replaced:
            kill_group(self.replaced)
            self.replaced = 0


def listens(group: int, port: int) -> bool:
    """Whether a process of this group listens on a port."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and any(
                net_connection.status == psutil.CONN_LISTEN and net_connection.laddr.port == port
                for net_connection in process.net_connections("tcp")
            ):
                return True
        except (
            psutil.Error,
            ProcessLookupError,
            PermissionError,
        ):  # it has ended, or belongs to another user
            continue
    return False


def how_it_ended(code: int) -> str:
    """An exit code in words.

    >>> how_it_ended(-9), how_it_ended(1)
    ('killed by SIGKILL', 'exit status 1')
    """
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def stop_together(services: Iterable[Service]) -> None:
    """Stop all services at the same time, so that stopping takes only as long as the slowest one."""
    running = [service for service in services if service.process is not None]
    steps = {service.name: list(service.stop_steps) for service in running}
    deadline = {service.name: 0.0 for service in running}
    while running:
        now = time.monotonic()
        for service in list(running):
            process = service.process
            assert process is not None  # noqa: S101
            if process.poll() is not None or (now >= deadline[service.name] and not steps[service.name]):
                kill_group(process.pid)
                service.kill_replaced()
                process.wait()
                service.process = None
                running.remove(service)
            elif now >= deadline[service.name]:
                sig, seconds = steps[service.name].pop(0)
                deadline[service.name] = now + seconds
                process.send_signal(sig)
        time.sleep(0.02)


def end_marked(data_dir: Path, seconds: float = 5.0) -> int:
    """End the processes that an earlier supervisor of this data directory left; return how many there were.

    They are recognised by an environment variable that every descendant inherits. A pid file could name an unrelated
    process.
    """
    left = marked(data_dir)
    for process in left:
        # Their servers ended with the supervisor, so an orderly stop isn't possible any more.
        with contextlib.suppress(psutil.Error):
            process.kill()
    deadline = time.monotonic() + seconds
    while marked(data_dir) and time.monotonic() < deadline:
        time.sleep(0.02)
    return len(left)


def marked(data_dir: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == str(data_dir):
                found.append(process)
        except psutil.Error:  # it has ended, or belongs to another user
            continue
    return found
