"""Find a Chromium: Debian's if installed, otherwise Playwright's, otherwise Debian's through apt (as root)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Playwright
from playwright.sync_api import Error as PlaywrightError

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    # A new page shares the renderer process of its context, which takes half a second of processor time to start.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]

#: The lock of `foretell/setup.sh`: whatever installs something waits for it.
LOCK = Path(__file__).parents[2] / ".setup.lock"
#: Another checkout may be installing at the same time.
WAIT = ["-o", "DPkg::Lock::Timeout=600"]


class NoBrowser(RuntimeError):
    """No browser is available. The tests fail instead of being skipped."""


def launch(playwright: Playwright) -> Browser:
    tried = []
    for source in (debian_chromium, playwright_chromium, apt_chromium):
        try:
            executable = source(playwright)
            return playwright.chromium.launch(executable_path=executable, args=FLAGS)
        except (PlaywrightError, NoBrowser, OSError, subprocess.SubprocessError) as error:
            tried.append(
                f"{source.__name__}: {str(error).strip().splitlines()[0] if str(error) else error!r}"
            )
    raise NoBrowser("no Chromium found. Install Debian's `chromium`. Tried:\n" + "\n".join(tried))


def debian_chromium(playwright: Playwright) -> str:
    named = os.environ.get("CHROMIUM", "")
    for candidate in (named, "/usr/bin/chromium", shutil.which("chromium"), shutil.which("chromium-browser")):
        if candidate and Path(candidate).is_file():
            return candidate
    raise NoBrowser("no chromium on PATH")


def playwright_chromium(playwright: Playwright) -> str:
    executable = playwright.chromium.executable_path
    if not Path(executable).is_file():
        run([sys.executable, "-m", "playwright", "install", "chromium"])
    return executable


def apt_chromium(playwright: Playwright) -> str:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise NoBrowser("not root, or no apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with open(LOCK, "w") as lock:  # every process of a test session looks for a browser at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(NoBrowser):
            return debian_chromium(playwright)
        run(["apt-get", "update", "-qq"], environment)
        run(["apt-get", *WAIT, "install", "-y", "-qq", "--no-install-recommends", "chromium"], environment)
    return debian_chromium(playwright)


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise NoBrowser(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-300:]}")
