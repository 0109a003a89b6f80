"""Import research material into a draft study."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from annotator.core.words import plural
from annotator.management.arguments import pairs, study_and_file, study_arguments
from annotator.models import Study
from annotator.services.images import folder_images, images_add
from annotator.services.imports.image_addresses import SECONDS_ALONE
from annotator.services.imports.material_import import ImportResult, material_import


class Command(BaseCommand):
    help = (
        "Import research material (JSON lines, CSV, TSV, Parquet) into a draft study: all rows or none. "
        "Each fault is reported with its file, line, column, value and what was expected."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        study_arguments(parser)
        parser.add_argument(
            "--map", nargs="+", action="extend", default=[], metavar="COLUMN=FILE_COLUMN",
            help="the file's name of a column, e.g. question=Input.question",
        )  # fmt: skip
        parser.add_argument(
            "--set", nargs="+", action="extend", default=[], metavar="COLUMN=VALUE",
            help="one value of a column for every row, e.g. system=gpt3",
        )  # fmt: skip
        parser.add_argument(
            "--attribute", nargs="+", action="extend", default=[], metavar="COL",
            help="a column that describes the item (domain, difficulty); reports can group and filter by it",
        )  # fmt: skip
        parser.add_argument(
            "--files", type=Path, metavar="DIR",
            help="a folder with the images that the material names; those that aren't uploaded yet are added",
        )  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="check and count, write nothing")

    def handle(self, **options: Any) -> None:
        mapping, constants = pairs(options["map"], "--map"), pairs(options["set"], "--set")
        with study_and_file(**options) as (study, file):
            if options["files"] is not None:
                added = images_add(study=study, files=folder_images(options["files"]))
                self.stdout.write(str(added))
            result = material_import(
                study=study,
                file=file,
                name=str(options["file"]),
                mapping=mapping,
                constants=constants,
                attributes=options["attribute"],
                dry_run=options["dry_run"],
                fetch_seconds=SECONDS_ALONE,
            )
        self._tell(study, result)

    def _tell(self, study: Study, result: ImportResult) -> None:
        if result.fetch_note:
            self.stdout.write(result.fetch_note)
        for warning in result.warnings:
            self.stderr.write(f"warning: {warning}")
        if result.ignored:
            self.stderr.write(f"columns not used: {', '.join(result.ignored)}")
        verb = "Would import" if result.dry_run else "Imported"
        known = (
            f" ({result.unchanged:,} {'was' if result.unchanged == 1 else 'were'} there already)"
            if result.unchanged
            else ""
        )
        self.stdout.write(
            f"{verb} {plural(result.items, 'item')}{known} into {study.slug}: {plural(result.instances, 'instance')},"
            f" {plural(result.systems, 'system')}, {plural(result.explanations, 'explanation')},"
            f" {plural(result.follow_ups, 'follow-up')}, {plural(result.outputs, 'real output')}."
        )
