"""Commands on an installation, as its operator runs them."""

from __future__ import annotations

import subprocess
import sys

from foretell import env
from tests.installation import Installation

PASSWORD = "a-long-password-7"


def manage(installation: Installation, *arguments: str, **more: str) -> str:
    """A command on the installation, as its operator would run it."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", *arguments],
        cwd=env.ROOT,
        env=installation.environment() | more,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
