"""``manage.py report STUDY``: compute a report here and now, and print it or write it to a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.models import Study


def add_choice_arguments(parser: ArgumentParser) -> None:
    """The arguments that choose what a report is computed on."""
    parser.add_argument("study", help="The study's slug.")
    parser.add_argument(
        "--rule", help="majority (default), dawid_skene, mace, per_rater or single:<rater>.", metavar="RULE"
    )
    parser.add_argument("--with-excluded", action="store_true", help="Count what researchers have excluded.")
    parser.add_argument("--labels", help="all (default) or statements (without 'cannot guess').")
    parser.add_argument("--instances", help="common (default) or all: which instances systems share.")
    parser.add_argument("--min-overlap", help="Least shared items of a pair that is averaged (10).")
    parser.add_argument("--bootstrap", help="Replicates for the intervals (1000); 0: no intervals.")
    parser.add_argument("--seed", help="Seed of the bootstrap (1).")
    parser.add_argument("--encoder", help="tfidf (default) or a sentence-transformers model.")


def choices_from(options: dict[str, Any]) -> Any:
    """The choices that the arguments make; a fault ends the command with what was expected."""
    from evaluation.reports.choices import Choices, ChoicesError

    names = {
        "rule": "rule",
        "labels": "labels",
        "restriction": "instances",
        "min_overlap": "min_overlap",
        "replicates": "bootstrap",
        "seed": "seed",
        "encoder": "encoder",
    }
    raw = {name: options[option] for name, option in names.items() if options.get(option) is not None}
    try:
        return Choices.parse(raw | {"exclusions": not options["with_excluded"]})
    except ChoicesError as error:
        lines = [
            f"--{names.get(name, name).replace('_', '-')}: {text}" for name, text in error.errors.items()
        ]
        raise CommandError("\n".join(lines)) from None


def study_from(options: dict[str, Any]) -> Study:
    study = Study.objects.filter(slug=options["study"]).first()
    if study is None:
        raise CommandError(f"no study has the slug {options['study']!r}")
    return study


class Command(BaseCommand):
    help = (
        "Compute the report of a study and print it or write it to a file. Nothing is stored in the database."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_choice_arguments(parser)
        parser.add_argument("--format", choices=["text", "json", "csv", "latex", "html"], default="text")
        parser.add_argument("--output", type=Path, help="Write here instead of printing.")

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.reports.compute import compute
        from evaluation.reports.exports import export

        study, choices = study_from(options), choices_from(options)
        try:
            found = compute(
                study=study,
                choices=choices,
                progress=self.tell(options),
                figures=options["format"] == "html",
            )
        except (ValueError, KeyError) as error:
            raise CommandError(f"{study.slug}: {error}") from error
        text = export(found.content, found.files, options["format"])
        if options["output"]:
            try:
                options["output"].write_text(text, encoding="utf-8")
            except OSError as error:
                raise CommandError(f"{options['output']}: {error.strerror}") from error
        else:
            self.stdout.write(text, ending="")

    def tell(self, options: dict[str, Any]) -> Any:
        """What is being done goes to the error stream, so that the output stays clean; nothing at verbosity 0."""
        return (lambda text: self.stderr.write(text)) if options["verbosity"] > 1 else (lambda text: None)
