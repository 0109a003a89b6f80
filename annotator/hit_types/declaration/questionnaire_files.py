"""The questionnaires that come with Foretell: a file each in the folder ``questionnaires``."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "questionnaires"


def questionnaire_names() -> list[str]:
    """The names of the questionnaires that come with Foretell.

    >>> "demographics" in questionnaire_names()
    True
    """
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
