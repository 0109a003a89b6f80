"""``manage.py workspace_backup WORKSPACE FILE``: one workspace with all its studies in one encrypted file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.printable import printable
from annotator.core.words import plural
from evaluation.management.study_files import key_from, key_options, said_plainly, workspace_named
from evaluation.moves.workspace_backup import workspace_backup
from evaluation.moves.workspace_tables import STAYS


class Command(BaseCommand):
    help = (
        "Back up one workspace to an encrypted file, while people work in it: members, HIT types, material, endpoints without keys, recipes, "
        "qualifications, and every study with its people. workspace_restore makes it again. Without the key the backup is worth nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", nargs="?", default="", help="The workspace's name or number.")
        parser.add_argument("file", nargs="?", type=Path, help="The new file.")
        parser.add_argument(
            "--without",
            action="append",
            default=[],
            metavar="SLUG",
            help="Leave out this study; may be repeated.",
        )
        parser.add_argument(
            "--list-left",
            action="store_true",
            help="Only list the tables that aren't in a backup, each with its reason.",
        )
        key_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list_left"]:
            for name, reason in STAYS.items():
                self.stdout.write(f"{name}: {reason}")
            return
        path = options["file"]
        if path is None:
            raise CommandError("Name the workspace and the new file.")
        workspace = workspace_named(options["workspace"])
        key = key_from(options, new=True)
        with said_plainly(path):
            contents = workspace_backup(workspace=workspace, path=path, key=key, without=options["without"])
        judgments = sum(study.rows.get("annotator.judgment", 0) for study in contents.studies)
        self.stdout.write(
            f"Wrote {path}: {printable(workspace.name)} with {plural(len(contents.studies), 'study', 'studies')} and "
            f"{plural(judgments, 'judgment')}. Whoever has the file and the key can read people's data."
        )
        for slug, reason in contents.without.items():
            self.stdout.write(f"Not in it: {slug}, which {printable(reason)}")
