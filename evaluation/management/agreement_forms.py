"""``agreement`` of a file whose values are sets, rankings, spans or pairwise preferences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from django.core.management.base import CommandError, CommandParser

from annotator.core.labels import exact_number
from evaluation.agreement.by_form import SIDES, FormSummary, summarize_form
from evaluation.agreement.output_forms import form_csv, form_json, form_text
from evaluation.agreement.reading import ReadRatings
from evaluation.agreement.value_forms import FORMS, Form

#: Options that need labels, with the value that means that they weren't given.
_NEED_LABELS: dict[str, Any] = {
    "counts": [], "gold": "", "by": [], "units": "", "order": [], "aggregate": None, "without_label": [],
    "raters": "these", "blanks": "left_out", "ties": "left_out", "decimal_comma": False,
}  # fmt: skip
WRITERS: dict[str, Callable[[FormSummary, Mapping[str, Any]], str]] = {
    "json": form_json,
    "csv": form_csv,
    "text": form_text,
}


def add_form_arguments(parser: CommandParser) -> None:
    """The options of these levels alone."""
    parser.add_argument(
        "--sides", nargs=2, default=[], metavar="COL",
        help="pairwise level: columns of the systems that are a and b (else a and b are compared themselves)",
    )  # fmt: skip
    parser.add_argument(
        "--length", default="", metavar="COL",
        help="span level: column of the text's number of characters (else a text ends with its last span)",
    )  # fmt: skip


def form_columns(options: Mapping[str, Any]) -> list[str]:
    """The further columns that the options name; raises ``CommandError`` for options that don't go together."""
    level = options["level"]
    for name, of in (("sides", "pairwise"), ("length", "span")):
        if options[name] and level != of:
            raise CommandError(f"--{name} goes with --level {of} only")
    if level in FORMS:
        for name, unset in _NEED_LABELS.items():
            if options[name] != unset:
                raise CommandError(
                    f"--level {level} takes no --{name.replace('_', '-')}: its values are not labels"
                )
    return [*options["sides"], *filter(None, (options["length"],))]


def form_summary(read: ReadRatings, form: Form, options: Mapping[str, Any]) -> FormSummary:
    """The summary of what was read; raises ``ValueError`` for a value that doesn't have the form, naming the column."""
    sides = _sides(read, options["sides"]) if options["sides"] else None
    lengths = _lengths(read, options["length"]) if options["length"] else None
    try:
        return summarize_form(
            read.ratings,
            form,
            sides=sides,
            lengths=lengths,
            rng=np.random.default_rng(options["seed"]) if options["bootstrap"] else None,
            replicates=options["bootstrap"],
        )
    except ValueError as error:
        raise ValueError(f"{options['file']}: {options['value']}: {error}") from error


def _sides(read: ReadRatings, columns: list[str]) -> list[dict[str, str]]:
    """The system of each side, for each rating."""
    first, second = (_filled(read, name, "the system of a side") for name in columns)
    return [dict(zip(SIDES, pair, strict=True)) for pair in zip(first, second, strict=True)]


def _filled(read: ReadRatings, column: str, what: str) -> list[str]:
    extra = read.extra[column]
    if (blank := np.flatnonzero(extra.codes < 0)).size:
        unit = read.ratings.units[read.ratings.unit[blank[0]]]
        raise ValueError(f"{column}: blank in a row of {unit!r}; expected {what}")
    return [extra.names[code] for code in extra.codes.tolist()]


def _lengths(read: ReadRatings, column: str) -> dict[str, int]:
    """The number of characters of each unit's text."""
    found: dict[str, int] = {}
    for unit, text in zip(
        read.ratings.unit.tolist(), _filled(read, column, "a number of characters"), strict=True
    ):
        name, number = read.ratings.units[unit], exact_number(text)
        if number is None or number != int(number) or number < 0:
            raise ValueError(f"{column}: {text!r} in a row of {name!r}; expected a number of characters")
        if found.setdefault(name, int(number)) != number:
            raise ValueError(f"{column}: {name!r} has {found[name]} and {int(number)} characters")
    return found | {name: 0 for name in read.ratings.units if name not in found}
