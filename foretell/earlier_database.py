"""Databases and backups that are older than the initial migrations of this version."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.migrations.loader import MigrationLoader

#: The last version with the migrations that the initial ones replace; ``deploy/initial-migrations`` writes it.
LAST_WITH_STEPS = "commit 95ff22b03471"


def problem(applied: Iterable[tuple[str, str]]) -> str:
    """What to do about a database with some of the replaced migrations and not all; empty if there is nothing to do."""
    have = set(applied)
    for initial in MigrationLoader(None).replacements.values():
        if have.intersection(initial.replaces) and (missing := sorted(set(initial.replaces) - have)):
            return (
                f"The tables are older than this version can upgrade ({'.'.join(missing[0])} isn't applied). Upgrade first with "
                f"Foretell of {LAST_WITH_STEPS} (`manage.py migrate`, or `manage.py restore` for a backup, which is then made "
                "again), and then with this version."
            )
    return ""
