"""Write the answers to a study's questionnaires to a file or to standard output."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.whole_file import whole_file
from annotator.management.arguments import study_named
from annotator.models import Export
from annotator.services.questionnaire_export import questionnaires_export


class Command(BaseCommand):
    help = "Export the answers to a study's questionnaires, one row for each person and question, as CSV or JSON lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("--format", choices=Export.Format.values, default="csv")
        parser.add_argument("--output", type=Path, default=None, metavar="FILE", help="else standard output")

    def handle(self, *, study: str, format: str, output: Path | None, **_: Any) -> None:
        chunks = questionnaires_export(study=study_named(study=study), format=format)
        if output is None:
            for chunk in chunks:
                self.stdout.write(chunk.decode(), ending="")
            return
        try:
            with whole_file(output) as file:
                file.writelines(chunks)
        except OSError as error:
            raise CommandError(f"{output}: {error.strerror}") from None
        print(f"{output}: {output.stat().st_size:,} bytes", file=sys.stderr)
