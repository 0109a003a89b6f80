"""Child processes that never outlive their parent, and the leftovers of a parent that was killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

from foretell.embedded.errors import EmbeddedError

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Account:
    """The user a server runs as: nobody when we are root (Postgres refuses root), else ourselves."""

    uid: int
    gid: int
    dropped: bool

    @classmethod
    def for_servers(cls) -> Account:
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid(), dropped=False)
        entry = pwd.getpwnam("nobody")
        return cls(entry.pw_uid, entry.pw_gid, dropped=True)

    def popen_args(self) -> dict[str, Any]:
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.dropped else {}


def check_owner(directory: Path, account: Account) -> None:
    """Refuses a data directory that another user's ``make run`` made: neither server would open it."""
    owner = directory.stat().st_uid if directory.exists() else account.uid
    if owner != account.uid:
        raise EmbeddedError(
            f"{directory} belongs to user {owner} and the servers would run as user {account.uid}: "
            "run as the user who made it, or choose another DATA_DIR"
        )


def die_with_parent(sig: signal.Signals) -> Callable[[], None]:
    """A ``preexec_fn``: the kernel sends ``sig`` to the child when the thread that started it is gone.

    It runs after ``Popen`` has changed the user, as it must: a change of user clears the setting.
    """
    parent = os.getpid()

    def prepare() -> None:
        ask_for_parent_death_signal(sig)
        if os.getppid() != parent:  # it died before the line above took effect
            os._exit(1)

    return prepare


def ask_for_parent_death_signal(sig: signal.Signals) -> None:
    """Linux alone can do this; elsewhere the next start ends what is left."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, int(sig), 0, 0, 0)


def spawn(
    command: list[str],
    *,
    cwd: Path,
    env: dict[str, str],
    output: IO[bytes] | int,
    on_parent_death: signal.Signals,
    account: Account | None = None,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Starts a child in its own session that dies with us; call it from the main thread only."""
    return subprocess.Popen(  # noqa: S603
        command,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches the supervisor alone, which stops the rest in order
        preexec_fn=die_with_parent(on_parent_death),
        **(account.popen_args() if account else {}),
    )


def stop(child: subprocess.Popen[bytes], *steps: tuple[signal.Signals, float]) -> None:
    """Sends each signal in turn and waits its seconds; SIGKILL to the whole group at the end."""
    for sig, seconds in steps:
        if child.poll() is not None:
            break
        child.send_signal(sig)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    kill_group(child.pid)
    child.wait()


def kill_group(pgid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, signal.SIGKILL)


def processes_in(directory: Path, name: str) -> list[psutil.Process]:
    """The running processes of that name whose working directory is ``directory``.

    Both servers work inside their own data directory, so this tells ours from every other one,
    whatever a stale pid file says.
    """
    found = []
    wanted = str(directory.resolve())
    for process in psutil.process_iter():
        try:
            if name in process.name() and process.cwd() == wanted:
                found.append(process)
        except psutil.Error:
            continue
    return found


def end_leftovers(directory: Path, name: str, sig: signal.Signals, seconds: float = 20) -> int:
    """Ends the processes that an earlier, killed parent left in ``directory``; how many there were."""
    found = processes_in(directory, name)
    for kind, wait in ((sig, seconds), (signal.SIGKILL, 5.0)):
        alive = processes_in(directory, name)
        for process in alive:
            _signal(process, kind)
        deadline = time.monotonic() + wait
        # Asked anew each time: a zombie that nobody reaps has ended, though its pid is still there.
        while alive and time.monotonic() < deadline and processes_in(directory, name):
            time.sleep(0.05)
    return len(found)


def _signal(process: psutil.Process, sig: signal.Signals) -> None:
    with contextlib.suppress(psutil.Error):
        process.send_signal(sig)


def free_port(preferred: int | None = None) -> int:
    """``preferred`` when nothing listens there on 127.0.0.1, else any free port."""
    for port in [preferred, 0] if preferred else [0]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port or 0))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")


def wait_until(ready: Callable[[], bool], child: subprocess.Popen[bytes], seconds: float) -> bool:
    """True once ``ready()``; False when the child has ended or the time is over."""
    deadline = time.monotonic() + seconds
    while child.poll() is None and time.monotonic() < deadline:
        if ready():
            return True
        time.sleep(0.01)
    return False
