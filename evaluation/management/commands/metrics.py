"""``manage.py metrics STUDY``: a study's metrics without the rest of its report."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluation.management.commands.report import (
    add_choice_arguments,
    choices_from,
    looks_log,
    named,
    studies_from,
)

#: Sections of a report that are not metrics of explanations.
OTHERS = ("data", "conduct", "agreement", "distributions", "calibration", "method")


class Command(BaseCommand):
    help = "Print the metrics of a study: precision, generality, utility, units, properties, as its task type has them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_choice_arguments(parser)
        parser.add_argument("--format", choices=["text", "json", "csv", "latex"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.reports.compute import compute_across
        from evaluation.reports.exports import export

        studies, choices = studies_from(options), choices_from(options)
        looks_log(studies, choices)
        try:
            content = compute_across(studies=studies, choices=choices, figures=False).content
        except (ValueError, KeyError) as error:
            raise CommandError(named(studies, error)) from error
        sections = [s for s in content["sections"] if s["id"] not in OTHERS]
        if {section["id"] for section in sections} <= {"summary"}:
            names = ", ".join(study.slug for study in studies)
            self.stderr.write(f"{names}: this task type has no metrics beyond agreement, which follows")
            sections = [s for s in content["sections"] if s["id"] in ("summary", "agreement")]
        content["sections"] = sections
        self.stdout.write(export(content, {}, options["format"]), ending="")
