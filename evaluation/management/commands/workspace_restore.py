"""``manage.py workspace_restore FILE [--as NAME]``: make a workspace again from its backup."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from annotator.core.printable import printable
from annotator.core.words import plural
from annotator.models import Study
from evaluation.management.study_files import key_from, key_options, researcher_named, said_plainly
from evaluation.management.watchdog import limits
from evaluation.moves.sealed_file import MoveError
from evaluation.moves.workspace_archive import backup_check
from evaluation.moves.workspace_restore import workspace_restore


class Command(BaseCommand):
    help = (
        "Make the workspace of a backup again, beside the workspaces that are here. The file is checked to its end before anything is "
        "written. Run the same command again if it was interrupted: it goes on with the next study. Accounts that aren't here yet have no password and "
        "no rights; endpoints and panels come without address, key and token; studies that were live are paused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The file that workspace_backup wrote.")
        parser.add_argument(
            "--as", dest="name", default="", metavar="NAME", help="The workspace's name. Default: as before."
        )
        parser.add_argument(
            "--owner",
            default="",
            metavar="USER",
            help="A researcher who becomes an owner of the workspace, too. Needed if none of its owners is a researcher here.",
        )
        parser.add_argument("--check", action="store_true", help="Only check the file, and list its studies.")
        parser.add_argument(
            "--minutes", type=float, default=600, help="Stop after this many minutes. Default: 600."
        )
        parser.add_argument(
            "--memory", type=int, default=4_000, metavar="MB", help="Stop at this much memory. Default: 4000."
        )
        key_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        path, key = options["file"], key_from(options, new=False)
        bounds = limits(minutes=options["minutes"], megabytes=options["memory"], error=MoveError)
        if options["check"]:
            with said_plainly(path), bounds:
                contents = backup_check(path=path, key=key)
            self.stdout.write(
                f"The backup of {printable(contents.name)}, written at {contents.written_at} by {contents.software}, is complete."
            )
            for part in contents.studies:
                judgments = plural(part.rows.get("annotator.judgment", 0), "judgment")
                deleted = ", deleted" if part.about["deleted"] else ""
                self.stdout.write(
                    f"{printable(str(part.about['slug']))}: {part.about['state']}{deleted}, {judgments}"
                )
            for slug, reason in contents.without.items():
                self.stdout.write(f"Not in it: {printable(slug)}, which {printable(str(reason))}")
            return
        owner = researcher_named(options["owner"]) if options["owner"] else None
        with said_plainly(path), bounds:
            restore = workspace_restore(
                path=path, key=key, name=options["name"], by=owner, said=self._restored
            )
        self.stdout.write(
            f"Restored the workspace {printable(restore.workspace.name)} with {plural(len(restore.studies), 'study', 'studies')}."
        )
        for member in restore.workspace.members.select_related("user").order_by("user__username"):
            if not (member.user.is_active and member.user.is_staff):
                self.stdout.write(
                    f"{printable(member.user.username)} is {member.role} once you make the account an active researcher's."
                )

    def _restored(self, slug: str) -> None:
        study = Study.objects.get(slug=slug)
        self.stdout.write(f"Restored {slug}: {plural(study.judgments.count(), 'judgment')}.")
