"""Install a Debian package that tests need and the machine lacks; as root only."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

#: The lock of `foretell/setup.sh`: whatever installs something waits for it.
LOCK = Path(__file__).parents[1] / ".setup.lock"
#: Another checkout may be installing at the same time.
WAIT = ["-o", "DPkg::Lock::Timeout=600"]
#: Why a package couldn't be installed. Nobody tries again for an hour: without a network each attempt takes long.
FAILED, AN_HOUR = Path(__file__).parents[1] / ".pytest_cache/v/foretell/apt", 3600.0


class NotInstalled(RuntimeError):
    """The package couldn't be installed; the text says why."""


def apt_install(package: str, *, installed: Callable[[], bool]) -> None:
    """Install a package, unless another process has installed it meanwhile. Raises ``NotInstalled``."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise NotInstalled("not root, or no apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with open(LOCK, "w") as lock:  # every process of a test session looks for it at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if installed():
            return
        reason = FAILED / package
        if reason.exists() and time.time() - reason.stat().st_mtime < AN_HOUR:
            raise NotInstalled(reason.read_text(encoding="utf-8"))
        try:
            run(["apt-get", "update", "-qq"], environment)
            run(["apt-get", *WAIT, "install", "-y", "-qq", "--no-install-recommends", package], environment)
        except (NotInstalled, subprocess.TimeoutExpired) as error:
            reason.parent.mkdir(parents=True, exist_ok=True)
            reason.write_text(str(error), encoding="utf-8")
            raise


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise NotInstalled(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-300:]}")
