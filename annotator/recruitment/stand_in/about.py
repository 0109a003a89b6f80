"""What a newcomer needs to know about the stand-in."""

from __future__ import annotations

from annotator.recruitment.registry import PANELS
from annotator.recruitment.stand_in.books import TOKEN


def stand_in_about() -> dict[str, str]:
    """The panel whose place it takes, where its people are, and the token to connect with."""
    panel = PANELS.get("prolific")
    return {"panel": panel.name, "title": panel.title, "site": panel.site, "token": TOKEN}
