"""What several commands take as options: names, numbers, and pairs of labels."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable

from django.core.management.base import CommandError


def names(text: str) -> list[str]:
    """Names separated by commas; one with a comma in it can be quoted, as in CSV."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"expected names separated by commas, got {text!r}")
    return names


def whole(least: int) -> Callable[[str], int]:
    """A whole number that is at least ``least``."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number, {least} or more, got {text!r}")
        return int(text)

    return read


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return number


def pairs(arguments: list[str]) -> dict[str, str]:
    """Read ``OLD=NEW`` pairs: labels that are replaced by others."""
    for argument in arguments:
        if "=" not in argument[1:]:
            raise CommandError(f"--recode: expected OLD=NEW, got {argument!r}")
    return {old: new for old, _, new in (argument.partition("=") for argument in arguments)}
