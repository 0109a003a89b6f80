"""``manage.py export_rewards PIPELINE``: a pipeline's rewarded rationales as training files, for labs that train their own models."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.whole_file import whole_file
from annotator.core.words import plural
from evaluation.models import Pipeline
from evaluation.pipelines.training import examples_of, held_out_questions
from evaluation.prompts.rewards import export_lines, question_lines


class Command(BaseCommand):
    help = (
        "Write every rewarded rationale of a pipeline as JSON lines, with its reward and reward quantile; with --questions the "
        "questions of the test part, for a model trained on them. Add rationale and answer to each of those lines and import "
        "them with import_material, as a system of a study of utility."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pipeline", type=int, help="Its number.")
        parser.add_argument("--form", choices=["messages", "prompt_completion"], default="messages")
        parser.add_argument(
            "--questions",
            action="store_true",
            help="Write the questions of the test part instead of rationales.",
        )
        parser.add_argument("--output", type=Path, help="The file to write; standard output without it.")

    def handle(self, *args: Any, **options: Any) -> None:
        pipeline = Pipeline.objects.select_related("recipe").filter(pk=options["pipeline"]).first()
        if pipeline is None:
            raise CommandError(f"no pipeline {options['pipeline']}")
        if options["questions"]:
            lines, noun = question_lines(held_out_questions(pipeline), options["form"]), "question"
        else:
            lines, noun = export_lines(examples_of(pipeline), options["form"]), "rationale"
        if not lines:
            raise CommandError(f"pipeline {pipeline.pk} has no rewarded rationales yet")
        if options["output"] is None:
            self.stdout.write(lines, ending="")
            return
        with whole_file(options["output"]) as file:
            file.write(lines.encode())
        self.stdout.write(f"{plural(lines.count(chr(10)), noun)} written to {options['output']}")
