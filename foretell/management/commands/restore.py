"""``manage.py restore DIRECTORY [--check]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.core.words import plural
from foretell.backup import BackupError
from foretell.restore import backup_check, backup_restore, same_key


class Command(BaseCommand):
    help = "Restore a backup into an empty database and file storage, then migrate to this version."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path)
        parser.add_argument(
            "--check", action="store_true", help="Only compare the files with their checksums."
        )

    def handle(self, *args: Any, directory: Path, check: bool, **options: Any) -> None:
        try:
            manifest = (backup_check if check else backup_restore)(directory=directory)
        except BackupError as error:
            raise CommandError(str(error)) from error
        about = f"the backup of {manifest['created']} ({plural(len(manifest['sha256']), 'file')})"
        self.stdout.write(f"All checksums match: {about}." if check else f"Restored {about}.")
        if erased := manifest.get("erased"):
            self.stdout.write(f"Repeated {plural(erased, 'erasure')} carried out after the backup was made.")
        if not same_key(manifest):
            self.stderr.write(
                "SECRET_KEY differs from the one of the backup: sessions, links and stored API keys of that "
                "installation can't be read. Set SECRET_KEY, or add the old key to SECRET_KEY_FALLBACKS."
            )
