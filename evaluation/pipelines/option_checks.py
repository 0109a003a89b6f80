"""Checks of the options of steps: each returns what is wrong with a value, or an empty text."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

Check = Callable[[Any], str]


class OptionError(ValueError):
    """An option doesn't fit its step; the message begins with the option's name."""


def any_text(value: Any) -> str:
    return "" if isinstance(value, str) else f"expected a text, got {value!r}"


def list_of_texts(value: Any) -> str:
    whole = isinstance(value, list) and all(isinstance(held, str) for held in value)
    return "" if whole else f"expected a list of texts, got {value!r}"


def true_or_false(value: Any) -> str:
    return "" if isinstance(value, bool) else f"expected true or false, got {value!r}"


def json_object(value: Any) -> str:
    return "" if isinstance(value, dict | None) else f"expected a JSON object, got {value!r}"


def one_of(*values: str) -> Check:
    """
    >>> one_of("cot", "post_hoc")("magic")
    "'magic' is not one of cot, post_hoc"
    """
    return lambda value: "" if value in values else f"{value!r} is not one of {', '.join(values)}"


def whole_number(least: int, most: int) -> Check:
    """
    >>> whole_number(1, 100)(0)
    'expected a whole number from 1 to 100, got 0'
    """

    def check(value: Any) -> str:
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return "" if fits else f"expected a whole number from {least} to {most}, got {value!r}"

    return check


def number_between(least: float, most: float) -> Check:
    """A number, or null for none."""

    def check(value: Any) -> str:
        fits = value is None or (isinstance(value, int | float) and least <= value <= most)
        return "" if fits else f"expected a number from {least} to {most}, got {value!r}"

    return check


def money_amount(value: Any) -> str:
    """
    >>> money_amount("2.50"), money_amount(-1)
    ('', 'expected an amount of 0 or more')
    """
    try:
        value = Decimal(str(0 if value is None else value))
    except InvalidOperation:
        value = Decimal("NaN")
    return "" if value.is_finite() and value >= 0 else "expected an amount of 0 or more"
