"""``manage.py report STUDY [STUDY ...]``: compute a report in this process, and print, write or store it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse

from annotator.core.whole_file import whole_file
from annotator.models import Study
from evaluation.reports.choices import Choices, ChoicesError, specs


def add_choice_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for a report's choices."""
    parser.add_argument(
        "study", nargs="+", help="The study's slug. With several, one report across them.", metavar="STUDY"
    )
    for spec in specs():
        if spec.kind == "flag":
            parser.add_argument(
                spec.option, action="store_true", help="Count what researchers have excluded."
            )
        else:
            expected = f" One of: {', '.join(spec.options)}." if spec.options else ""
            expected += " Or single:<rater>." if spec.kind == "rule" else ""
            parser.add_argument(
                spec.option,
                dest=spec.name,
                metavar=spec.option.lstrip("-").upper(),
                help=f"{spec.label}.{expected} {spec.hint} Default: {spec.default}.".replace("%", "%%"),
            )


def choices_from(options: dict[str, Any]) -> Choices:
    """The choices in the arguments; raises ``CommandError`` with what was expected."""
    raw = {spec.name: options[spec.name] for spec in specs() if options.get(spec.name) is not None}
    try:
        return Choices.parse(raw | {"exclusions": not options["with_excluded"]})
    except ChoicesError as error:
        arguments = {spec.name: spec.option for spec in specs()}
        lines = [f"{arguments.get(name, name)}: {text}" for name, text in error.errors.items()]
        raise CommandError("\n".join(lines)) from None


def studies_from(options: dict[str, Any]) -> list[Study]:
    """The named studies, without repetitions; raises ``CommandError`` for an unknown one."""
    studies = []
    for slug in dict.fromkeys(options["study"]):
        study = Study.objects.filter(slug=slug, deleted_at__isnull=True).first()
        if study is None:
            raise CommandError(f"no study has the slug {slug!r}")
        studies.append(study)
    return studies


def named(studies: list[Study], error: object) -> str:
    """An error with the study's name; errors across several studies already name it."""
    return f"{studies[0].slug}: {error}" if len(studies) == 1 else str(error)


def looks_log(studies: list[Study], choices: Choices) -> None:
    """Record early looks at planned comparisons, as for a report that is stored."""
    from evaluation.services.analysis_plan import plan_look_log

    for study in studies if choices.count != "rehearsal" else ():
        plan_look_log(study=study)


class Command(BaseCommand):
    help = (
        "Compute the report of a study, or across several, and print it or write it to a file. "
        "With --store it is stored like the reports that researchers request."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_choice_arguments(parser)
        parser.add_argument("--format", choices=["text", "json", "csv", "latex", "html"], default="text")
        parser.add_argument("--output", type=Path, help="The file to write; standard output without it.")
        parser.add_argument("--store", action="store_true", help="Store it, and print its address.")

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.reports.compute import compute_across
        from evaluation.reports.exports import export

        studies, choices = studies_from(options), choices_from(options)
        if options["store"]:
            return self.store(studies, choices)
        looks_log(studies, choices)
        try:
            report = compute_across(
                studies=studies,
                choices=choices,
                progress=self.tell(options),
                figures=options["format"] == "html",
            )
        except (ValueError, KeyError) as error:
            raise CommandError(named(studies, error)) from error
        text = export(report.content, report.files, options["format"])
        if options["output"]:
            try:
                with whole_file(options["output"]) as file:
                    file.write(text.encode())
            except OSError as error:
                raise CommandError(f"{options['output']}: {error.strerror}") from error
        else:
            self.stdout.write(text, ending="")

    def store(self, studies: list[Study], choices: Any) -> None:
        """Store the report in the same way as one that a researcher requests, but compute it in this process."""
        from evaluation.services.report import report_compute, report_create

        with transaction.atomic():
            report = report_create(
                study=studies[0], others=studies[1:], choices=choices.to_json(), send=False
            )
        report_compute(report_pk=report.pk)
        report.refresh_from_db()
        if report.state != report.State.DONE:
            raise CommandError(named(studies, report.error))
        self.stdout.write(f"report {report.pk}: {reverse('evaluation:report', args=[report.pk])}")

    def tell(self, options: dict[str, Any]) -> Any:
        """Print progress to standard error, so that the output contains only the report; nothing at verbosity 0."""
        return (lambda text: self.stderr.write(text)) if options["verbosity"] > 1 else (lambda text: None)
