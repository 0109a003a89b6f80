"""``manage.py human_scores STUDY``: what people said about a study's items, for Inspect's ``precomputed_scores()``."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.whole_file import whole_file
from annotator.core.words import plural
from annotator.models import Study
from evaluation.services.human_scores import human_scores_download


class Command(BaseCommand):
    help = "Write the label that most people gave each item of a study, as JSON lines that Inspect's precomputed_scores() reads."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument("--output", type=Path, required=True, help="The file to write, ending in .jsonl.")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']!r}.")
        try:
            with whole_file(options["output"]) as file:
                written = sum(1 for line in human_scores_download(study=study) if file.write(line.encode()))
        except OSError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Wrote the scores of {plural(written, 'item')} to {options['output']}.")
