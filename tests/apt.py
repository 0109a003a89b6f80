"""Install a Debian package that tests need and the machine lacks; as root only."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

#: The lock of `foretell/setup.sh`: whatever installs something waits for it.
LOCK = Path(__file__).parents[1] / ".setup.lock"
#: Another checkout may be installing at the same time.
WAIT = ["-o", "DPkg::Lock::Timeout=600"]


class NotInstalled(RuntimeError):
    """The package couldn't be installed; the text says why."""


def apt_install(package: str, *, installed: Callable[[], bool]) -> None:
    """Install a package, unless another process has installed it meanwhile. Raises ``NotInstalled``."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise NotInstalled("not root, or no apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with open(LOCK, "w") as lock:  # every process of a test session looks for it at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed():
            run(["apt-get", "update", "-qq"], environment)
            run(["apt-get", *WAIT, "install", "-y", "-qq", "--no-install-recommends", package], environment)


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise NotInstalled(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-300:]}")
