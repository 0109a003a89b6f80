"""``manage.py agreement FILE``: the agreement of any long CSV of ratings, without a study and without a database."""

from __future__ import annotations

import argparse
import csv
import sys
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotator.core.labels import Spelling
from evaluation.agreement.output import as_csv, as_json, as_text
from evaluation.agreement.reading import UnreadableRatings, read_ratings
from evaluation.agreement.summary import AgreementSummary, summarize


def _names(text: str) -> list[str]:
    """Names separated by commas; one with a comma in it can be quoted, as in CSV."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"expected names separated by commas, got {text!r}")
    return names


def _whole(least: int) -> Any:
    def whole(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number, {least} or more, got {text!r}")
        return int(text)

    return whole


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return number


def _pairs(arguments: list[str]) -> dict[str, str]:
    """Read ``OLD=NEW`` pairs: labels that are replaced by others."""
    for argument in arguments:
        if "=" not in argument[1:]:
            raise CommandError(f"--recode: expected OLD=NEW, got {argument!r}")
    return {old: new for old, _, new in (argument.partition("=") for argument in arguments)}


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
        parser.add_argument("--rater", required=True, metavar="COL", help="column that names the rater")
        parser.add_argument("--unit", required=True, metavar="COL", help="column that names what is rated")
        parser.add_argument(
            "--value", required=True, metavar="COL", help="column of the label; blank is missing"
        )
        parser.add_argument(
            "--cluster", default="", metavar="COL",
            help="column of the instance that a unit belongs to: intervals draw those (else units)",
        )  # fmt: skip
        parser.add_argument("--level", choices=("nominal", "ordinal", "interval", "ratio"), default="nominal")
        parser.add_argument(
            "--order", type=_names, default=[], metavar="a,b,c", help="all labels, from low to high"
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
        parser.add_argument(
            "--min-overlap", type=_whole(1), default=10, metavar="N",
            help="pairs of raters that share fewer units are listed, not averaged (10)",
        )  # fmt: skip
        parser.add_argument(
            "--bootstrap",
            type=_whole(0),
            default=1000,
            metavar="N",
            help="replicates for the intervals (1000); 0: none",
        )
        parser.add_argument(
            "--raters", choices=("these", "new"), default="these",
            help="intervals for these raters and other units, or for new raters too (these)",
        )  # fmt: skip
        parser.add_argument("--seed", type=_whole(0), default=0, metavar="N", help="of the bootstrap (0)")
        parser.add_argument("--format", choices=("text", "json", "csv"), default="text")
        parser.add_argument(
            "--simulators",
            type=_names,
            default=[],
            metavar="A,B",
            help="raters that are models; the others are people",
        )
        parser.add_argument(
            "--epsilon", type=_share, default=0.2, metavar="X",
            help="of the alternative annotator test: 0.2 experts, 0.15 skilled people, 0.1 a crowd (0.2)",
        )  # fmt: skip
        parser.add_argument(
            "--without-label", action="append", default=[], metavar="L",
            help="take ratings with this label as missing; can be repeated",
        )  # fmt: skip
        parser.add_argument(
            "--aggregate",
            metavar="RULE",
            help="also one label per unit: majority, dawid_skene, mace, per_rater or single:RATER",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            summary, notes = self._summarize(options)
        except (UnreadableRatings, ValueError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror or error}") from error
        for note in notes:
            self.stderr.write(f"note: {note}")
        settings = {"bootstrap": {"replicates": options["bootstrap"], "seed": options["seed"]}}
        write = {"json": as_json, "csv": as_csv, "text": as_text}[options["format"]]
        self.stdout.write(write(summary, settings), ending="")

    def _summarize(self, options: dict[str, Any]) -> tuple[AgreementSummary, list[str]]:
        from_stdin = options["file"] == "-"
        source: Path | BinaryIO = BytesIO(sys.stdin.buffer.read()) if from_stdin else Path(options["file"])
        read = read_ratings(
            source,
            rater=options["rater"],
            unit=options["unit"],
            value=options["value"],
            cluster=options["cluster"],
            level=options["level"],
            order=options["order"],
            simulators=options["simulators"],
            spelling=Spelling(options["missing"], _pairs(options["recode"]), options["fold_case"]),
            name="standard input" if from_stdin else options["file"],
        )
        notes = [*read.notes]
        notes += [
            f"nobody gave the label {label!r} of --without-label"
            for label in options["without_label"]
            if label not in read.ratings.labels
        ]
        summary = summarize(
            read.ratings,
            min_overlap=options["min_overlap"],
            replicates=options["bootstrap"],
            rng=np.random.default_rng(options["seed"]),
            epsilon=options["epsilon"],
            without_labels=options["without_label"],
            rule=options["aggregate"],
            blank=read.blank,
            new_raters=options["raters"] == "new",
        )
        return summary, notes
