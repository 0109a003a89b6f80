"""Find a Chromium: Debian's if installed, otherwise Playwright's, otherwise Debian's through apt (as root)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Playwright
from playwright.sync_api import Error as PlaywrightError

from tests.apt import NotInstalled, apt_install, run

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


class NoBrowser(RuntimeError):
    """No browser is available. The tests fail instead of being skipped."""


def launch(playwright: Playwright) -> Browser:
    tried = []
    for source in (debian_chromium, playwright_chromium, apt_chromium):
        try:
            executable = source(playwright)
            return playwright.chromium.launch(executable_path=executable, args=FLAGS)
        except (PlaywrightError, NoBrowser, NotInstalled, OSError, subprocess.SubprocessError) as error:
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
    def installed() -> bool:
        with contextlib.suppress(NoBrowser):
            return bool(debian_chromium(playwright))
        return False

    apt_install("chromium", installed=installed)
    return debian_chromium(playwright)
