"""Make ratings with known truth, or plan how many items and raters an interval of a given width needs."""

from __future__ import annotations

import csv
import io
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from annotator.core.whole_file import whole_file
from annotator.core.words import plural
from evaluation.planning.sample_size import FIGURES, PlanRow, plan_width
from evaluation.planning.synthetic import COLUMNS, StudyDesign, draw_study


class Command(BaseCommand):
    help = (
        "Writes a simulated study as a long CSV (one row per rating, with the truth beside it), or with --width "
        "prints how many instances, items and judgments an interval of that width needs, and what they cost."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        usual = StudyDesign()
        parser.add_argument("file", nargs="?", help="CSV file to write; must not exist yet")
        parser.add_argument("--instances", type=int, default=usual.instances)
        parser.add_argument("--follow-ups", type=int, default=usual.follow_ups, help="for each explanation")
        parser.add_argument("--precision", default="0.8,0.8", help="one number for each system")
        parser.add_argument("--raters", type=int, default=usual.raters, help="people in the pool")
        parser.add_argument("--redundancy", type=int, default=usual.redundancy, help="people for each item")
        parser.add_argument("--accuracy", type=float, default=usual.accuracy, help="mean over people")
        parser.add_argument("--accuracy-sd", type=float, default=usual.accuracy_sd, help="spread over people")
        parser.add_argument("--simulator", action="append", default=[], metavar="NAME=ACCURACY")
        parser.add_argument(
            "--prevalence", default="yes=0.35,no=0.3,cannot guess=0.35", metavar="LABEL=SHARE,..."
        )
        parser.add_argument(
            "--abstain", default="cannot guess", help="the label for no statement; may be empty"
        )
        parser.add_argument("--clustering", type=float, default=usual.clustering, help="within an instance")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--width", type=float, help="plan for a 95 %% interval of this width")
        parser.add_argument("--figure", choices=sorted(FIGURES), default="precision", help="what to plan for")
        parser.add_argument(
            "--redundancies", default="1,3,5", help="people for each item to compare in the plan"
        )
        parser.add_argument("--pay", type=float, default=0.0, help="pay for one judgment")
        parser.add_argument("--fee", type=float, default=0.0, help="the platform's fee as a share of the pay")
        parser.add_argument("--runs", type=int, default=200, help="studies drawn for each row of the plan")
        parser.add_argument("--format", choices=("text", "json"), default="text", help="of the plan")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["file"] and options["width"] is None:
            raise CommandError("give a FILE to write, or --width to plan")
        rng = np.random.default_rng(options["seed"])
        try:
            design = _design(options)
            if options["width"] is not None:
                self._print_plan(design, rng, options)
            if options["file"]:
                self._write(design, rng, Path(options["file"]))
        except ValueError as error:
            raise CommandError(str(error)) from error

    def _print_plan(self, design: StudyDesign, rng: np.random.Generator, options: dict[str, Any]) -> None:
        rows = plan_width(
            design,
            options["width"],
            rng,
            figure=options["figure"],
            redundancies=_numbers("--redundancies", options["redundancies"], int),
            pay_per_judgment=options["pay"],
            fee=options["fee"],
            runs=options["runs"],
        )
        if options["format"] == "json":
            self.stdout.write(json.dumps([row.to_dict() for row in rows], indent=2))
        else:
            self.stdout.write("\n".join(_plan_lines(rows)))

    def _write(self, design: StudyDesign, rng: np.random.Generator, path: Path) -> None:
        if path.exists():
            raise CommandError(f"FILE: {path} already exists")
        study = draw_study(design, rng)
        try:
            with whole_file(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(COLUMNS)
                writer.writerows(study.rows())
        except OSError as error:
            raise CommandError(f"FILE: cannot write {path}: {error.strerror}") from error
        self.stdout.write(
            f"{plural(len(study.ratings), 'rating')} of {plural(design.items, 'item')} written to {path}"
        )


def _design(options: dict[str, Any]) -> StudyDesign:
    shares = dict(_pair("--prevalence", "LABEL=SHARE", part) for part in options["prevalence"].split(","))
    return StudyDesign(
        instances=options["instances"],
        precision=tuple(_numbers("--precision", options["precision"], float)),
        follow_ups=options["follow_ups"],
        raters=options["raters"],
        redundancy=options["redundancy"],
        accuracy=options["accuracy"],
        accuracy_sd=options["accuracy_sd"],
        simulators=dict(_pair("--simulator", "NAME=ACCURACY", part) for part in options["simulator"]),
        labels=tuple(shares),
        prevalence=tuple(shares.values()),
        abstain=options["abstain"],
        clustering=options["clustering"],
    )


def _numbers(option: str, text: str, kind: Any) -> list[Any]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise CommandError(f"{option}: expected numbers with commas between them, got {text!r}") from None


def _pair(option: str, form: str, text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        if not name.strip():
            raise ValueError
        return name.strip(), float(number)
    except ValueError:
        raise CommandError(f"{option}: expected {form}, got {text!r}") from None


def _plan_lines(rows: list[PlanRow]) -> list[str]:
    lines = [
        f"{'raters/item':>11}{'instances':>11}{'items':>9}{'judgments':>11}{'cost':>12}{'width':>8}{'mean':>8}{'bias':>8}"
    ]
    for row in rows:
        bias = "-" if np.isnan(row.bias) else f"{row.bias:+.3f}"
        lines.append(
            f"{row.redundancy:>11}{row.instances:>11,}{row.items:>9,}{row.judgments:>11,}{row.cost:>12,.2f}"
            f"{row.width:>8.3f}{row.mean:>8.3f}{bias:>8}"
        )
    lines.append(f"{rows[0].runs} simulated studies a row; bias = what the raters would measure - the truth.")
    return lines
