"""Find a Chromium: Debian's headless shell, which root installs, or Debian's Chromium, otherwise Playwright's.

The headless shell has the same engine without the windows, tabs and menus of a desktop, which Chromium also keeps without a
screen. A page takes half the processor time in it, and a context a fifth.
"""

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

SHELL = "chromium-headless-shell"
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
    for source in (named_chromium, debian_shell, debian_chromium, playwright_chromium, apt_chromium):
        try:
            executable = source(playwright)
            return playwright.chromium.launch(executable_path=executable, args=FLAGS)
        except (PlaywrightError, NoBrowser, NotInstalled, OSError, subprocess.SubprocessError) as error:
            tried.append(
                f"{source.__name__}: {str(error).strip().splitlines()[0] if str(error) else error!r}"
            )
    raise NoBrowser("no Chromium found. Install Debian's `chromium`. Tried:\n" + "\n".join(tried))


def named_chromium(playwright: Playwright) -> str:
    named = os.environ.get("CHROMIUM", "")
    if not Path(named).is_file():
        raise NoBrowser("CHROMIUM names no file")
    return named


def debian_shell(playwright: Playwright) -> str:
    """The headless shell, installed if it's missing."""
    if not shutil.which(SHELL):
        apt_install(SHELL, installed=lambda: bool(shutil.which(SHELL)))
    if found := shutil.which(SHELL):
        return found
    raise NoBrowser(f"no {SHELL} on PATH")


def debian_chromium(playwright: Playwright) -> str:
    for candidate in ("/usr/bin/chromium", shutil.which("chromium"), shutil.which("chromium-browser")):
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
