"""``manage.py export_study SLUG --to FILE``: a study with its people, for another installation of the same lab."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from annotator.core.words import plural
from evaluation.management.study_files import key_from, key_options, said_plainly, study_named
from evaluation.moves.keeping import study_export
from evaluation.moves.tables import LEFT


class Command(BaseCommand):
    help = (
        "Write a draft or closed study with its people to an encrypted file, for another installation of the same lab: material, versions, "
        "settings, judgments, exclusions, adjudications, plan, runs, ledger, messages and accounts. Passwords, second factors, tokens and keys stay."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", nargs="?", default="", help="The study's short name.")
        parser.add_argument("--to", type=Path, metavar="FILE", help="The new file.")
        parser.add_argument(
            "--list-left",
            action="store_true",
            help="Only list the tables that don't move, each with its reason.",
        )
        key_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list_left"]:
            for name, reason in LEFT.items():
                self.stdout.write(f"{name}: {reason}")
            return
        study, path = study_named(options["slug"]), options["to"] or Path(f"{options['slug']}.foretell")
        key = key_from(options, new=True)
        with said_plainly(path):
            counts = study_export(study=study, path=path, key=key)
        self.stdout.write(
            f"Wrote {path}: {plural(sum(counts.values()), 'row')} of {study.slug}, with {plural(counts['annotator.judgment'], 'judgment')} and "
            f"{plural(counts['annotator.participation'], 'participation')}. Whoever has the file and the key can read people's data."
        )
