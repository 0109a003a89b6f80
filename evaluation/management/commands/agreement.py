"""``manage.py agreement FILE``: the agreement of any long CSV of ratings, without a study and without a database."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.core.labels import Spelling
from evaluation.agreement.accuracy import accuracy
from evaluation.agreement.aggregate import PerRater, aggregate
from evaluation.agreement.by_form import FormSummary
from evaluation.agreement.by_group import by_group, grouped_values
from evaluation.agreement.descriptive import unit_distributions
from evaluation.agreement.output import Additions, json_pieces
from evaluation.agreement.output_csv import as_csv, units_csv
from evaluation.agreement.output_text import as_text
from evaluation.agreement.reading import ReadRatings, read_ratings
from evaluation.agreement.reading_counts import read_counts
from evaluation.agreement.selection import select_rows, without_labels
from evaluation.agreement.summary import AgreementSummary, summarize
from evaluation.agreement.value_forms import FORMS, form_of
from evaluation.management.agreement_forms import WRITERS, add_form_arguments, form_columns, form_summary
from evaluation.management.option_types import names, pairs, share, whole


class Command(BaseCommand):
    help = "Agreement of the ratings in a long CSV, one row per rating. Needs no study and no database."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            metavar="FILE",
            help="CSV, TSV, JSON lines, Parquet or .xlsx; - reads a CSV from standard input",
        )
        parser.add_argument("--rater", default="", metavar="COL", help="column that names the rater")
        parser.add_argument(
            "--unit", nargs="+", action="extend", required=True, metavar="COL",
            help="column that names what is rated; several name it together",
        )  # fmt: skip
        parser.add_argument(
            "--value", default="", metavar="COL", help="column of the label; blank is missing"
        )
        parser.add_argument(
            "--counts", nargs="+", action="extend", default=[], metavar="COL",
            help="instead of --rater and --value, for a file with one row per unit: a column per label, with its count",
        )  # fmt: skip
        parser.add_argument(
            "--gold", default="", metavar="COL", help="column of the correct label: gives accuracies"
        )
        for name, what in (("blanks", "blank values"), ("ties", "units on which raters tie")):
            parser.add_argument(
                f"--{name}", choices=("left_out", "wrong"), default="left_out",
                help=f"with --gold: {what} count as wrong, or are left out (left_out)",
            )  # fmt: skip
        parser.add_argument("--missing-wrong", action="store_true", help=argparse.SUPPRESS)
        parser.add_argument(
            "--by", nargs="+", action="extend", default=[], metavar="COL",
            help="columns of units or raters (kind, age): everything also for each of their values",
        )  # fmt: skip
        parser.add_argument(
            "--only", nargs="+", action="extend", default=[], metavar="COL=VALUE",
            help="only rows with this value; several of one column: any of them",
        )  # fmt: skip
        parser.add_argument(
            "--units", default="", metavar="FILE",
            help="also write each unit's distribution of labels (soft label) and entropy, as CSV",
        )  # fmt: skip
        parser.add_argument(
            "--cluster", default="", metavar="COL",
            help="column of the instance that a unit belongs to: intervals draw those (else units)",
        )  # fmt: skip
        parser.add_argument(
            "--level", choices=("nominal", "ordinal", "interval", "ratio", *FORMS), default="nominal",
            help="values of set, ranking and span are JSON lists; of pairwise a, b or equal (nominal)",
        )  # fmt: skip
        add_form_arguments(parser)
        parser.add_argument(
            "--order", type=names, default=[], metavar="a,b,c", help="all labels, from low to high"
        )
        parser.add_argument(
            "--recode", nargs="+", action="extend", default=[], metavar="OLD=NEW", help="read a label as another",
        )  # fmt: skip
        parser.add_argument(
            "--missing", action="append", default=[], metavar="L",
            help="a label that means no answer, such as NA; can be repeated",
        )  # fmt: skip
        parser.add_argument(
            "--fold-case", action="store_true", help="read labels that differ only in case or form as one"
        )
        parser.add_argument("--decimal-comma", action="store_true", help="numbers have a decimal comma: 2,5")
        parser.add_argument(
            "--min-overlap", type=whole(1), default=10, metavar="N",
            help="pairs of raters that share fewer units are listed, not averaged (10)",
        )  # fmt: skip
        parser.add_argument(
            "--bootstrap",
            type=whole(0),
            default=1000,
            metavar="N",
            help="replicates for the intervals (1000); 0: none",
        )
        parser.add_argument(
            "--raters", choices=("these", "new"), default="these",
            help="intervals for these raters and other units, or for new raters too (these)",
        )  # fmt: skip
        parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help="of the bootstrap (0)")
        parser.add_argument(
            "--all-pairs", action="store_true",
            help="print every pair of raters, not only the 20 with the lowest kappa",
        )  # fmt: skip
        parser.add_argument("--format", choices=("text", "json", "csv"), default="text")
        parser.add_argument(
            "--simulators",
            type=names,
            default=[],
            metavar="A,B",
            help="raters that are models; the others are people",
        )
        parser.add_argument(
            "--epsilon", type=share, default=0.2, metavar="X",
            help="of the alternative annotator test: 0.2 experts, 0.15 skilled people, 0.1 a crowd (0.2)",
        )  # fmt: skip
        parser.add_argument(
            "--without-label", action="append", default=[], metavar="L",
            help="take ratings with this label as missing; can be repeated",
        )  # fmt: skip
        parser.add_argument(
            "--aggregate",
            metavar="RULE",
            help="also one label per unit: majority, dawid_skene, mace, median, mean, per_rater or single:RATER",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["missing_wrong"]:
            raise CommandError(
                "--missing-wrong is now --blanks wrong (blank values) and --ties wrong (units on which raters tie), as in reports"
            )
        form = form_of(options["level"])
        try:
            read, notes = _read(options)
            if form:
                self._write_form(form_summary(read, form, options), notes, options)
                return
            summary = _summary(read, options)
            additions = _additions(read, options)
            if options["units"]:
                shown = without_labels(read, options["without_label"]).ratings
                Path(options["units"]).write_text(units_csv(unit_distributions(shown)), encoding="utf-8")
        except ValueError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename or options['file']}: {error.strerror or error}") from error
        for note in notes:
            self.stderr.write(f"note: {note}")
        settings: dict[str, Any] = {
            "bootstrap": {"replicates": options["bootstrap"], "seed": options["seed"]}
        }
        if additions.accuracy is not None:
            settings |= {name: options[name] for name in ("blanks", "ties")}
        writers: dict[str, Callable[..., str | Iterable[str]]] = {
            "json": json_pieces,
            "csv": as_csv,
            "text": partial(as_text, all_pairs=options["all_pairs"]),
        }
        text = writers[options["format"]](summary, settings, additions)
        for piece in [text] if isinstance(text, str) else text:
            self.stdout.write(piece, ending="")

    def _write_form(self, summary: FormSummary, notes: list[str], options: dict[str, Any]) -> None:
        for note in notes:
            self.stderr.write(f"note: {note}")
        settings = {"bootstrap": {"replicates": options["bootstrap"], "seed": options["seed"]}}
        self.stdout.write(WRITERS[options["format"]](summary, settings), ending="")


def _read(options: dict[str, Any]) -> tuple[ReadRatings, list[str]]:
    """The chosen rows of the file, and remarks."""
    from_stdin = options["file"] == "-"
    source: Path | BinaryIO = BytesIO(sys.stdin.buffer.read()) if from_stdin else Path(options["file"])
    name = "standard input" if from_stdin else options["file"]
    only, further = _chosen(options["only"]), form_columns(options)
    if options["counts"]:
        for other in ("rater", "value", "cluster", "by", "only", "order", "simulators"):
            if options[other]:
                raise CommandError(f"--counts takes no --{other}")
        read = read_counts(
            source,
            unit=options["unit"],
            counts=options["counts"],
            gold=options["gold"],
            level=options["level"],
            name=name,
        )
        return read, ["raters have no names: statistics of pairs and of single raters are left out"]
    for needed in ("rater", "value"):
        if not options[needed]:
            raise CommandError(f"--{needed} is missing (or --counts, for a table of label counts)")
    read = read_ratings(
        source,
        rater=options["rater"],
        unit=options["unit"],
        value=options["value"],
        cluster=options["cluster"],
        gold=options["gold"],
        extra=[*options["by"], *only, *further],
        level="nominal" if options["level"] in FORMS else options["level"],
        order=options["order"],
        simulators=options["simulators"],
        spelling=Spelling(
            options["missing"], pairs(options["recode"]), options["fold_case"], options["decimal_comma"]
        ),
        name=name,
    )
    notes = [*read.notes]
    notes += [
        f"nobody gave the label {label!r} of --without-label"
        for label in options["without_label"]
        if label not in read.ratings.labels
    ]
    return (select_rows(read, only) if only else read), notes


def _chosen(arguments: list[str]) -> dict[str, list[str]]:
    """``COL=VALUE`` of ``--only`` as the values of each column."""
    values: dict[str, list[str]] = {}
    for argument in arguments:
        column, equals, value = argument.partition("=")
        if not equals or not column:
            raise CommandError(f"--only: expected COL=VALUE, got {argument!r}")
        values.setdefault(column, []).append(value)
    return values


def _summary(read: ReadRatings, options: dict[str, Any]) -> AgreementSummary:
    return summarize(
        read.ratings,
        min_overlap=options["min_overlap"],
        replicates=options["bootstrap"],
        rng=np.random.default_rng(options["seed"]),
        epsilon=options["epsilon"],
        without_labels=options["without_label"],
        rule=options["aggregate"],
        blank=read.blank,
        new_raters=options["raters"] == "new",
        named=not options["counts"],
    )


def _additions(read: ReadRatings, options: dict[str, Any]) -> Additions:
    """Groups and accuracy, if requested."""
    for name in ("blanks", "ties"):
        if options[name] == "wrong" and read.gold is None:
            raise CommandError(f"--{name} wrong needs --gold")
    read = without_labels(read, options["without_label"])
    unanswered = read.unanswered if options["blanks"] == "wrong" else None
    ties_wrong, rule = options["ties"] == "wrong", options["aggregate"]
    rule = None if rule == PerRater.name else rule or "majority"
    resampling = {
        "rng": np.random.default_rng(options["seed"]) if options["bootstrap"] else None,
        "replicates": options["bootstrap"],
    }
    groups = {}
    for column in dict.fromkeys(options["by"]):
        extra = read.extra[column]
        try:
            names, codes = grouped_values(extra.names, np.concatenate((extra.codes, extra.unanswered)))
        except ValueError as error:
            raise CommandError(f"--by {column}: {error}") from None
        groups[column] = by_group(
            read.ratings,
            names,
            codes[: len(read.ratings)],
            gold=read.gold,
            unanswered=(*unanswered, codes[len(read.ratings) :]) if unanswered else None,
            ties_wrong=ties_wrong,
            rule=rule,
            min_overlap=options["min_overlap"],
            new_raters=options["raters"] == "new",
            **resampling,
        )
    if read.gold is None:
        return Additions(groups)
    labels = None if rule is None else aggregate(read.ratings, rule)
    right = accuracy(
        read.ratings, read.gold, labels=labels, unanswered=unanswered, ties_wrong=ties_wrong, **resampling
    )
    # Numbers of raters within each unit are no raters, so there is no accuracy of each.
    return Additions(groups, replace(right, raters={}) if options["counts"] else right)
