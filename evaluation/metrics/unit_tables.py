"""The smaller tables of atomic-unit studies: parsing quality, buckets of units present, the sanity check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate
from evaluation.metrics.resample import codes_of, ratio_estimate

Role = Literal["both", "input", "output"]

#: Bucket names of the paper, each from its lower bound up to the one before it.
BUCKETS: tuple[tuple[str, float], ...] = (
    ("1.00", 1.0),
    (".80-.99", 0.8),
    (".60-.79", 0.6),
    (".40-.59", 0.4),
    (".20-.39", 0.2),
    ("0-.19", 0.0),
)


@dataclass(frozen=True)
class Buckets:
    """How many counterfactuals contain which share of their units: Limpijankit et al. 2025, Table 5."""

    counts: Mapping[str, int]
    total: int
    left_out: int


def buckets_of(shares: npt.ArrayLike) -> Buckets:
    """Count shares in the paper's buckets; ``total`` is the sum of the buckets, nan shares are left out.

    Buckets are half open: .80-.99 takes every share from .8 up to, but not including, 1. Raises ``ValueError``
    for a share outside [0, 1].

    >>> buckets_of([1.0, 0.995, 0.6, 0.0]).counts["1.00"]
    1
    """
    values = np.asarray(shares, dtype=np.float64)
    defined = values[~np.isnan(values)]
    if defined.size and (defined.min() < 0 or defined.max() > 1):
        raise ValueError("shares: expected values in [0, 1]")
    counts, above = {}, 0
    for name, low in BUCKETS:
        reached = int((defined >= low).sum())
        counts[name], above = reached - above, reached
    return Buckets(counts=counts, total=int(defined.size), left_out=int(values.size - defined.size))


@dataclass(frozen=True)
class ParsingQuality:
    """``accuracy`` is the share of explanations parsed without fault; the counts split the others."""

    accuracy: Estimate
    missing: int
    incorrect: int
    both: int


def parsing_quality(
    missing: Sequence[bool | None],
    incorrect: Sequence[bool | None],
    instance: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> ParsingQuality:
    """How well explanations were cut into units: Limpijankit et al. 2025, Table 4.

    One entry per explanation: ``missing`` where a unit that should be there is not, ``incorrect`` where a unit
    was cut or classified wrongly, None where the raters gave no aggregated label (left out and counted).

    >>> found = parsing_quality([False, True], [False, False], ["x", "y"])
    >>> found.accuracy.value, found.missing, found.incorrect, found.both
    (0.5, 1, 0, 0)
    """
    if not len(missing) == len(incorrect) == len(instance):
        raise ValueError("missing, incorrect, instance: expected one length")
    known = np.array([m is not None and i is not None for m, i in zip(missing, incorrect, strict=True)], bool)
    lacks, wrong = np.array(missing, dtype=object) == True, np.array(incorrect, dtype=object) == True  # noqa: E712
    faultless = known & ~lacks & ~wrong
    left = {"without a label": int((~known).sum())} if not known.all() else {}
    return ParsingQuality(
        accuracy=ratio_estimate(
            faultless,
            known,
            codes_of(list(instance))[0],
            rng=rng,
            replicates=replicates,
            reason="no explanation's parsing has a label",
            left_out=left,
        ),
        missing=int((known & lacks & ~wrong).sum()),
        incorrect=int((known & ~lacks & wrong).sum()),
        both=int((known & lacks & wrong).sum()),
    )


@dataclass(frozen=True)
class SanityCheck:
    """``passed`` is None where nothing could be checked; ``failures`` are (counterfactual, its precision)."""

    passed: bool | None
    checked: int
    failures: tuple[tuple[str, float], ...]


def sanity_check(counterfactual: Sequence[str], precision: npt.ArrayLike) -> SanityCheck:
    """Outputs written *from* the explanation must score a precision of exactly 1.00 on every counterfactual.

    ``precision`` of shape (K,) is that of each counterfactual, nan where not simulatable (not checked).
    Source: Limpijankit et al. 2025, section 5.2.

    >>> sanity_check(["c", "d"], [1.0, 0.5]).failures
    (('d', 0.5),)
    """
    values = np.asarray(precision, dtype=np.float64)
    if values.shape != (len(counterfactual),):
        raise ValueError("counterfactual, precision: expected one length")
    checked = ~np.isnan(values)
    failures = tuple(
        (str(name), float(value))
        for name, value, ok in zip(counterfactual, values, checked, strict=True)
        if ok and value < 1.0
    )
    return SanityCheck(
        passed=not failures if checked.any() else None, checked=int(checked.sum()), failures=failures
    )
