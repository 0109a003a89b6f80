"""``manage.py pipeline_step PIPELINE STEP``: repeat one step of a pipeline."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.tables.faults import FileRefused
from evaluation.management.commands.pipeline import overrides_read
from evaluation.models import Pipeline, Report, Run
from evaluation.pipelines.advance import pipeline_step_again
from evaluation.runs.inline import run_inline
from evaluation.services.report import report_compute


class Command(BaseCommand):
    help = "Repeat one step of a pipeline: existing results stay, missing ones are requested or added."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pipeline", type=int, help="Its number.")
        parser.add_argument("step", help="The step's name.")
        parser.add_argument(
            "--override",
            action="append",
            default=[],
            metavar="CHOICE=VALUE",
            help="Replace one choice of the step for this run; VALUE is JSON or a plain text. May be given several times.",
        )
        parser.add_argument(
            "--inline", action="store_true", help="Work in this process instead of in Celery workers."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        pipeline = Pipeline.objects.select_related("recipe").filter(pk=options["pipeline"]).first()
        if pipeline is None:
            raise CommandError(f"no pipeline {options['pipeline']}")
        name = options["step"]
        given = overrides_read([f"{name}.{text}" for text in options["override"]])
        try:
            made = pipeline_step_again(pipeline=pipeline, name=name, choices=given.get(name))
        except (ValidationError, FileRefused) as error:
            raise CommandError("; ".join(getattr(error, "messages", [str(error)]))) from None
        if options["inline"] and isinstance(made, Run):
            made = run_inline(run=made)
        if options["inline"] and isinstance(made, Report):
            report_compute(report_pk=made.pk)
            made.refresh_from_db()
        self.stdout.write(f"{made}: {made.get_state_display()}")
