"""``foretell metrics FILE``: simulation precision, gain and utility of a file of ratings, without a study and without a database."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evaluation.core.file_columns import FileColumns
from evaluation.management.option_types import names, pairs, whole

#: The columns of the ratings table -> what their options say.
COLUMNS = {
    "rater": "names the rater",
    "unit": "names what is rated",
    "value": "the label; blank is missing",
    "real": "the system's real output on the follow-up, with which labels are compared",
    "instance": "the input that the unit belongs to: intervals draw instances",
    "explanation": "the explanation; without it, instance and system name it",
    "system": "the system: every figure also for each one",
    "condition": "what was shown",
    "follow_up": "names the follow-up in both arms of a gain; without it, the unit",
    "correct": "the correct answer, for utility",
    "variable": "what was asked, if the file has several",
    "rater_kind": "“simulator” for raters that are models",
}


class Command(BaseCommand):
    help = (
        "Simulation precision, simulatable share, gain over a control arm, accuracy by condition and utility of the ratings in a long file, "
        "one row per rating, with the columns of a release's ratings.csv. Needs no study and no database. The metrics of a study: "
        "`foretell manage metrics STUDY`."
    )
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            metavar="FILE",
            help="CSV, TSV, JSON lines, Parquet or .xlsx; - reads a CSV from standard input",
        )
        usual = FileColumns()
        for name, text in COLUMNS.items():
            own = getattr(usual, name)
            parser.add_argument(
                f"--{name.replace('_', '-')}", default=own, metavar="COL", help=f"column: {text} ({own})"
            )
        parser.add_argument("--only-variable", default="", metavar="NAME", help="the variable to measure")
        parser.add_argument(
            "--abstain", type=names, default=["cannot_guess", "cannot guess"], metavar="A,B",
            help="labels that make no statement (cannot_guess,cannot guess)",
        )  # fmt: skip
        parser.add_argument(
            "--control", default="", metavar="CONDITION", help="the condition without the explanation: gives the gain"
        )  # fmt: skip
        parser.add_argument(
            "--before", default="", metavar="NAME", help="the variable answered before the explanation: gives utility, with --after"
        )  # fmt: skip
        parser.add_argument("--after", default="", metavar="NAME", help="the variable answered after it")
        parser.add_argument(
            "--rule", default="majority", metavar="RULE",
            help="how a unit's labels become one: majority, dawid_skene, mace, per_rater or single:RATER (majority)",
        )  # fmt: skip
        parser.add_argument(
            "--simulators", type=names, default=[], metavar="A,B", help="raters that are models, if no column says so"
        )  # fmt: skip
        parser.add_argument(
            "--missing", action="append", default=[], metavar="L",
            help="a label that means no answer, such as NA; can be repeated",
        )  # fmt: skip
        parser.add_argument(
            "--recode", nargs="+", action="extend", default=[], metavar="OLD=NEW", help="read a label as another",
        )  # fmt: skip
        parser.add_argument(
            "--fold-case", action="store_true", help="read labels that differ only in case or form as one"
        )
        parser.add_argument(
            "--bootstrap", type=whole(0), default=1000, metavar="N",
            help="replicates for the intervals (1000); 0: none",
        )  # fmt: skip
        parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help="of the bootstrap (0)")
        parser.add_argument("--format", choices=("text", "json", "csv"), default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        from annotator.core.labels import Spelling
        from evaluation.metrics.file_figures import FigureChoices, file_figures
        from evaluation.metrics.file_ratings import file_ratings

        path = options["file"]
        try:
            data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
            found = file_ratings(
                data,
                name="standard input" if path == "-" else path,
                columns=FileColumns(**{name: options[name] for name in COLUMNS}),
                simulators=options["simulators"],
                abstain=options["abstain"],
                spelling=Spelling(options["missing"], pairs(options["recode"]), options["fold_case"]),
            )
            utility = options["before"] or options["after"]
            variables = sorted(set(found.column("variable")) - {""})
            if options["only_variable"]:
                found = found.variable(options["only_variable"])
            elif len(variables) > 1 and not utility:
                raise CommandError(
                    f"the file has several variables: choose one of {', '.join(variables)} with --only-variable"
                )
            choices = FigureChoices(
                **{name: options[name] for name in ("rule", "control", "before", "after", "seed")},
                replicates=options["bootstrap"],
            )
            figures = file_figures(found, choices)
        except ValueError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename or path}: {error.strerror or error}") from error
        for note in found.notes:
            self.stderr.write(f"note: {note}")
        if found.left_out:
            said = ", ".join(f"{number:,} ({reason})" for reason, number in found.left_out.items())
            self.stderr.write(f"note: ratings that don't count: {said}")
        if found.blank:
            self.stderr.write(f"note: rows without a value: {found.blank:,}")
        rows = [figure.to_dict() for figure in figures]
        writers = {"json": _json, "csv": _csv, "text": _text}
        self.stdout.write(writers[options["format"]](rows), ending="")


def _json(rows: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps(list(rows), indent=1, ensure_ascii=False) + "\n"


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    from annotator.core.csv_cells import cell_neutral

    out = io.StringIO(newline="")
    writer = csv.writer(out)
    held = list(rows)
    writer.writerow(held[0] if held else [])
    for row in held:
        left = "; ".join(f"{reason}: {number}" for reason, number in row["left_out"].items())
        writer.writerow(
            [cell_neutral("" if cell is None else cell) for cell in {**row, "left_out": left}.values()]
        )
    return out.getvalue()


def _text(rows: Iterable[Mapping[str, Any]]) -> str:
    lines: list[str] = []
    before: tuple[str, str] | None = None
    for row in rows:
        about = (row["raters"], row["system"])
        if about != before:
            whose = "all systems" if about[1] == "all" else about[1]
            lines += ["", f"{about[0]}, {whose}"]
            before = about
        lines.append(f"  {row['metric']:<38}{_value(row)}")
        if row["left_out"]:
            left = ", ".join(f"{number:,} {reason}" for reason, number in row["left_out"].items())
            lines.append(f"  {'':<38}left out: {left}")
    return "\n".join(lines[1:]) + "\n"


def _value(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return f"not defined: {row['reason']}"
    if row["low"] is None:
        why = f"  {row['interval']}" if row["interval"] else ""
        return f"{row['value']:>7.3f}  n = {row['n']:,}{why}"
    return f"{row['value']:>7.3f}  [{row['low']:.3f}, {row['high']:.3f}]  n = {row['n']:,}"
