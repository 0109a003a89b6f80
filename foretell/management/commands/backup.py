"""``manage.py backup DIRECTORY [--only database|files] [--keys FILE]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.core.words import plural
from foretell.backup import PARTS, BackupError, backup_write, keys_write


class Command(BaseCommand):
    help = (
        "Back up the database and the files to a new directory, while people work. "
        "The keys go to a file of their own, to be kept elsewhere."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path, help="A directory that doesn't exist yet.")
        parser.add_argument("--only", choices=PARTS, help="Back up only this part.")
        parser.add_argument("--keys", type=Path, help="Also write the keys to this new file.")

    def handle(
        self, *args: Any, directory: Path, only: str | None, keys: Path | None, **options: Any
    ) -> None:
        try:
            if keys:
                keys_write(path=keys)
            manifest = backup_write(directory=directory, parts=(only,) if only else PARTS)
        except BackupError as error:
            raise CommandError(str(error)) from error
        rows = sum(about["rows"] for about in manifest.get("tables", {}).values())
        self.stdout.write(
            f"Backed up {plural(rows, 'row')} in {plural(len(manifest.get('tables', {})), 'table')} and "
            f"{plural(manifest.get('files', 0), 'file')} "
            f"to {directory}."
        )
        if not keys:
            self.stdout.write(
                "The keys aren't included. Without SECRET_KEY, stored API keys can't be read after a restore: "
                "keep a copy of it elsewhere (--keys FILE)."
            )
