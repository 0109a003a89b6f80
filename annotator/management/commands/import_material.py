"""Import research material into a draft study."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotator.management.arguments import pairs, study_arguments, study_named
from annotator.models import Study
from annotator.services.images import folder_images, images_add
from annotator.services.imports.faults import ImportRefused
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
        try:
            file = options["file"].open("rb")
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from None
        try:
            with file, transaction.atomic():
                study = study_named(**options)
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
                )
                if options["dry_run"]:
                    transaction.set_rollback(True)
        except ValidationError as error:
            raise CommandError("\n".join([*error.messages, "Nothing was imported."])) from None
        except ImportRefused as refused:
            raise CommandError(f"{refused}\nNothing was imported: {refused.total} faults.") from None
        self._tell(study, result)

    def _tell(self, study: Study, result: ImportResult) -> None:
        for warning in result.warnings:
            self.stderr.write(f"warning: {warning}")
        if result.ignored:
            self.stderr.write(f"columns not used: {', '.join(result.ignored)}")
        verb = "Would import" if result.dry_run else "Imported"
        known = f" ({result.unchanged} were there already)" if result.unchanged else ""
        self.stdout.write(
            f"{verb} {result.items} items{known} into {study.slug}: {result.instances} instances,"
            f" {result.systems} systems, {result.explanations} explanations, {result.follow_ups} follow-ups,"
            f" {result.outputs} real outputs."
        )
