"""Write a study's judgments to a file or to standard output."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.whole_file import whole_file
from annotator.management.arguments import pairs, study_named
from annotator.models import Export
from annotator.selectors.judgment import FILTERS, UnknownFilter
from annotator.services.exports import judgments_export


class Command(BaseCommand):
    help = "Export a study's judgments as CSV or JSON lines; streams, so the size does not matter."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("--form", choices=Export.Form.values, default="judgments")
        parser.add_argument("--format", choices=Export.Format.values, default="csv")
        parser.add_argument(
            "--filter", nargs="+", action="extend", default=[], metavar="NAME=VALUE",
            help=f"only those: {', '.join(FILTERS)}",
        )  # fmt: skip
        parser.add_argument("--output", type=Path, default=None, metavar="FILE", help="else standard output")

    def handle(self, **options: Any) -> None:
        study = study_named(study=options["study"])
        try:
            chunks = judgments_export(
                study=study,
                format=options["format"],
                form=options["form"],
                filters=pairs(options["filter"], "--filter"),
            )
        except UnknownFilter as error:
            raise CommandError(f"--filter: {error}") from None
        if options["output"] is None:
            for chunk in chunks:
                self.stdout.write(chunk.decode(), ending="")
            return
        try:
            with whole_file(options["output"]) as file:
                file.writelines(chunks)
        except OSError as error:
            raise CommandError(f"{options['output']}: {error.strerror}") from None
        print(f"{options['output']}: {options['output'].stat().st_size:,} bytes", file=sys.stderr)
