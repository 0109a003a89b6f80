"""``manage.py keep_study SLUG --to FILE``: archive a study into an encrypted file and remove it from the database."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from evaluation.management.study_files import key_from, key_options, said_plainly, study_named
from evaluation.moves.keeping import study_keep


class Command(BaseCommand):
    help = (
        "Write an archived study with its people to an encrypted file, check the file, and remove the study's rows. What stays says where the "
        "file is; bring_back_study makes the study again. Without the key the study is lost."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="The study's short name.")
        parser.add_argument("--to", type=Path, metavar="FILE", required=True, help="The new file.")
        parser.add_argument(
            "--without-releases", action="store_true", help="Remove its releases, which aren't in the file."
        )
        parser.add_argument(
            "--without-shared-reports",
            action="store_true",
            help="Delete the reports on this study together with others, which aren't in the file.",
        )
        key_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, path = study_named(options["slug"]), options["to"]
        key = key_from(options, new=True)
        with said_plainly(path):
            kept = study_keep(
                study=study,
                path=path,
                key=key,
                releases=options["without_releases"],
                shared_reports=options["without_shared_reports"],
            )
        self.stdout.write(f"Kept {kept.slug} in {kept.place} (SHA-256 {kept.sha256}). Its rows were removed.")
