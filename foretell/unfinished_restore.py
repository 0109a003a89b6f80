"""A file in ``DATA_DIR`` while a restore is under way, so that nothing serves what an interrupted one left.

The rows of a backup are there before people who were erased later are erased again. If the restore is killed in between, the same
command resumes where it stopped, and until then ``foretell.serve`` starts nothing. ``make run`` does, because its servers are needed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from foretell import env

MESSAGE = (
    "A restore hasn't finished: people who were erased may be in the database again. Run the same `manage.py restore` command "
    "again; it resumes where it stopped. (To give it up, empty the database and delete {path}.)"
)


def path() -> Path:
    return env.DATA_DIR / "restore-unfinished.json"


def problem() -> str:
    """What to do about an unfinished restore; empty if there is none."""
    return MESSAGE.format(path=path()) if path().exists() else ""


def rows_are_there(*, backup: str, database: str) -> bool:
    """Whether an interrupted restore has put all rows of this backup into this database."""
    try:
        noted = json.loads(path().read_text())
    except (FileNotFoundError, ValueError):
        return False
    return bool(noted == {"backup": backup, "database": database, "rows": True})


def note(*, backup: str, database: str, rows: bool) -> None:
    """Store how far the restore is.

    Args:
        backup: the digest of its manifest.
        database: where the rows go.
        rows: whether all of them are there.
    """
    env.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path().with_suffix(".new")
    new.write_text(json.dumps({"backup": backup, "database": database, "rows": rows}))
    os.replace(new, path())


def finished() -> None:
    path().unlink(missing_ok=True)
