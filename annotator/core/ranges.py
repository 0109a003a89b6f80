"""The validator for numbers in a range, whether they come from a form, the API or code."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.deconstruct import deconstructible

Number = int | float | Decimal


@deconstructible
class InRange:
    """Validates ``least <= value <= most``; NaN fails. The error names the range."""

    def __init__(self, least: Number, most: Number) -> None:
        self.least, self.most = least, most

    def __call__(self, value: Any) -> None:
        if not self.holds(value):
            raise ValidationError(self.message, code="out_of_range")

    def holds(self, value: Any) -> bool:
        """Whether a value is a number in the range."""
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or value != value:
            return False
        return bool(self.least <= value <= self.most)

    @property
    def message(self) -> str:
        """
        >>> InRange(1, 10_080).message
        'Expected a number from 1 to 10,080.'
        """
        return f"Expected a number from {self.least:,} to {self.most:,}."

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InRange) and (self.least, self.most) == (other.least, other.most)

    def __hash__(self) -> int:
        return hash((self.least, self.most))
