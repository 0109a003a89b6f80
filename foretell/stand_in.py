"""The stand-in of Prolific beside ``make run``: with ``PANEL_STAND_IN=1``, recruitment can be tried without an account or money."""

from __future__ import annotations

import sys

#: The variable that has its address.
ADDRESS = "PROLIFIC_API_URL"
#: What to enter as the API token. The stand-in belongs to nobody, so it's no secret.
TOKEN = "prolific-stand-in-token-9f3a"  # noqa: S105
ISSUER = "https://www.prolific.example"


def variables(port: int, *, people: int = 0) -> dict[str, str]:
    """The variables with which every process of the installation uses the stand-in instead of Prolific.

    >>> variables(8082)["PROLIFIC_SITE_URL"]
    'http://127.0.0.1:8082/'
    """
    address = f"http://127.0.0.1:{port}"
    return {
        "PANEL_STAND_IN": "1",
        "PROLIFIC_API_URL": address,
        "PROLIFIC_KEYS_URL": f"{address}/.well-known/study/jwks.json",
        "PROLIFIC_ISSUER": ISSUER,
        "PROLIFIC_SITE_URL": f"{address}/",
        # They all come from this machine.
        **({"JOINS_PER_ADDRESS": str(max(100, 2 * people))} if people else {}),
    }


def command(port: int, *, people: int = 0, site: str = "") -> list[str]:
    """The command that serves it. With ``people``, as many come to a study of the demo at ``site``."""
    shown = ["--people", str(people), "--site", site] if people else []
    return [sys.executable, "-m", "django", "prolific_stand_in", "--port", str(port), *shown]
