"""Start child processes that end with their parent, and end those that a killed parent left."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import psutil

from foretell.embedded.system_user import SystemUser
from foretell.stopping import pause

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(sig: signal.Signals) -> Callable[[], None]:
    """A ``preexec_fn`` with which the kernel sends ``sig`` to the child when the thread that started it ends.

    ``Popen`` calls it after changing the user, which is necessary: a change of user clears the setting.
    """
    parent = os.getpid()

    def prepare() -> None:
        ask_for_parent_death_signal(sig)
        if os.getppid() != parent:  # the parent ended before the line above took effect
            os._exit(1)

    return prepare


def ask_for_parent_death_signal(sig: signal.Signals) -> None:
    """Only Linux can do this; on other systems the next start ends processes that are left."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, int(sig), 0, 0, 0)


def spawn(
    command: list[str],
    *,
    cwd: Path,
    env: dict[str, str],
    output: IO[bytes] | int,
    on_parent_death: signal.Signals,
    account: SystemUser | None = None,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a child in its own session that ends with this process. Call it from the main thread only."""
    return subprocess.Popen(  # noqa: S603
        command,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches only the supervisor, which stops the others in order
        preexec_fn=die_with_parent(on_parent_death),
        **(account.popen_args() if account else {}),
    )


def stop(child: subprocess.Popen[bytes], *steps: tuple[signal.Signals, float]) -> None:
    """Send each signal in turn and wait its seconds; finally send SIGKILL to the whole group."""
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

    Both servers work inside their own data directory, so this finds ours and no other, whatever a stale pid file
    says.
    """
    processes = []
    wanted = str(directory.resolve())
    for process in psutil.process_iter():
        try:
            if name in process.name() and process.cwd() == wanted:
                processes.append(process)
        except psutil.Error:
            continue
    return processes


def end_leftovers(directory: Path, name: str, sig: signal.Signals, seconds: float = 20) -> int:
    """End the processes that an earlier, killed parent left in ``directory``; return how many there were."""
    leftovers = processes_in(directory, name)
    for kind, wait in ((sig, seconds), (signal.SIGKILL, 5.0)):
        alive = processes_in(directory, name)
        for process in alive:
            _signal(process, kind)
        deadline = time.monotonic() + wait
        # Searched again each time: a zombie has ended although its pid still exists.
        while alive and time.monotonic() < deadline and processes_in(directory, name):
            time.sleep(0.05)
    return len(leftovers)


def _signal(process: psutil.Process, sig: signal.Signals) -> None:
    with contextlib.suppress(psutil.Error):
        process.send_signal(sig)


def server_ports() -> range:
    """Ports that the kernel doesn't give to connections by itself."""
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = 32_768
    return range(20_000, max(20_000, min(first, 32_768)))


def free_port(preferred: int | None = None) -> int:
    """``preferred`` if nothing listens there on 127.0.0.1, otherwise any free port.

    A connection of another process doesn't take that port before the server starts: see ``server_ports``.
    """
    ports = server_ports()
    # Not from ``random``: processes with the same seed would take the same port.
    others = random.SystemRandom().sample(ports, min(20, len(ports)))
    for port in [*([preferred] if preferred else []), *others, 0]:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")


def wait_until(ready: Callable[[], bool], child: subprocess.Popen[bytes], seconds: float) -> bool:
    """True once ``ready()``; False if the child ends first or the time is over."""
    deadline = time.monotonic() + seconds
    while child.poll() is None and time.monotonic() < deadline:
        if ready():
            return True
        pause(0.01)
    return False
