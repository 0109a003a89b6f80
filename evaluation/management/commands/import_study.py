"""``manage.py import_study FILE``: make the study of an encrypted file on this installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from annotator.core.printable import printable
from annotator.core.words import plural
from evaluation.management.study_files import key_from, key_options, researcher_named, said_plainly
from evaluation.management.watchdog import limits
from evaluation.moves.keeping import study_import
from evaluation.moves.sealed_file import MoveError


class Command(BaseCommand):
    help = (
        "Make the study that export_study wrote, with its people, all or nothing, in a new workspace. Accounts that aren't here yet have no "
        "password and no rights; endpoints come without address and key. A study whose short name is taken isn't imported without --slug."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The file.")
        parser.add_argument(
            "--owner", required=True, metavar="USER", help="Who owns the study and its workspace."
        )
        parser.add_argument(
            "--slug", default="", help="Another short name, to make a second study of the same file."
        )
        parser.add_argument(
            "--workspace", default="", metavar="NAME", help="The new workspace's name. Default: as before."
        )
        parser.add_argument(
            "--minutes", type=float, default=60, help="Stop after this many minutes. Default: 60."
        )
        parser.add_argument(
            "--memory", type=int, default=4_000, metavar="MB", help="Stop at this much memory. Default: 4000."
        )
        key_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        owner, key = researcher_named(options["owner"]), key_from(options, new=False)
        with (
            said_plainly(options["file"]),
            limits(minutes=options["minutes"], megabytes=options["memory"], error=MoveError),
        ):
            study = study_import(
                path=options["file"], key=key, by=owner, slug=options["slug"], workspace=options["workspace"]
            )
        self.stdout.write(
            f"Imported {study.slug}: {plural(study.judgments.count(), 'judgment')}, {plural(study.participations.count(), 'participation')}, "
            f"in the workspace {printable(str(study.workspace))}."
        )
