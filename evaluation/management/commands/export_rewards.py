"""``manage.py export_rewards PIPELINE``: a pipeline's rewarded rationales as training files, for labs that train themselves."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluation.models import Pipeline
from evaluation.pipelines.rewards import export_lines
from evaluation.pipelines.training import examples_of


class Command(BaseCommand):
    help = (
        "Write every rewarded rationale of a pipeline as JSON lines, with its reward and reward quantile. The rationales of a "
        "model trained on them come back with import_material, as a system of a study of utility."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pipeline", type=int, help="Its number.")
        parser.add_argument("--form", choices=["messages", "prompt_completion"], default="messages")
        parser.add_argument("--output", type=Path, help="The file to write; standard output without it.")

    def handle(self, *args: Any, **options: Any) -> None:
        pipeline = Pipeline.objects.select_related("recipe").filter(pk=options["pipeline"]).first()
        if pipeline is None:
            raise CommandError(f"no pipeline {options['pipeline']}")
        examples = examples_of(pipeline)
        if not examples:
            raise CommandError(f"pipeline {pipeline.pk} has no rewarded rationales yet")
        lines = export_lines(examples, options["form"])
        if options["output"] is None:
            self.stdout.write(lines, ending="")
            return
        options["output"].write_text(lines, encoding="utf-8")
        self.stdout.write(f"{len(examples)} rationales written to {options['output']}")
