"""The result of every statistic: a number with its interval and counts, or the reason why it is undefined."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NAN = math.nan
#: The ``interval`` of an estimate without one because none was requested.
NOT_ASKED = "none asked for"


@dataclass(frozen=True)
class Estimate:
    """One statistic.

    ``value`` is ``nan`` where the statistic is not defined, and ``reason`` then says why, as an end of the
    sentence "not defined: ...". ``low`` and ``high`` are the ends of the 95 % interval, ``nan`` without one
    (``interval`` says which method, replicates and seed, or why there is none). ``n`` is the denominator,
    ``left_out`` maps a reason to how many were left out for it.

    >>> Estimate(0.5, n=4).defined, undefined("all raters gave the same label").defined
    (True, False)
    """

    value: float
    low: float = NAN
    high: float = NAN
    n: int = 0
    reason: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    interval: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.value) and not self.reason:
            raise ValueError("reason: an undefined estimate must say why")

    @property
    def defined(self) -> bool:
        return not math.isnan(self.value)

    def to_dict(self) -> dict[str, Any]:
        """As JSON: ``nan`` becomes null."""
        return {
            "value": none_if_nan(self.value),
            "low": none_if_nan(self.low),
            "high": none_if_nan(self.high),
            "n": self.n,
            "reason": self.reason,
            "left_out": dict(self.left_out),
            "interval": self.interval,
        }


def undefined(reason: str, *, n: int = 0, left_out: Mapping[str, int] | None = None) -> Estimate:
    """An estimate that is not defined, with the reason."""
    return Estimate(NAN, n=n, reason=reason, left_out=left_out or {})


def none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
