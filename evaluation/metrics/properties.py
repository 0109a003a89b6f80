"""How often rationales have each property, and how far the annotators agree on it (Joshi et al. 2023, A.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from evaluation.agreement.intervals import alpha_estimate
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.metrics.resample import codes_of, ratio_estimate


@dataclass(frozen=True)
class PropertyRow:
    """One property of one system's rationales (``system`` "all": of all together).

    ``prevalence`` is the mean over rationales of the share of annotators who see the property (Figure 7),
    ``alpha`` Krippendorff's nominal alpha (Table 13).
    """

    property: str
    system: str
    prevalence: Estimate
    alpha: Estimate


def property_table(
    tables: Mapping[str, Ratings],
    system_of: Mapping[str, str],
    instance_of: Mapping[str, str],
    *,
    present: str = "yes",
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> list[PropertyRow]:
    """Prevalence and nominal alpha of every property, for each system and all together.

    ``tables`` maps a property to its ratings, whose units are rationales; ``system_of`` and ``instance_of`` map a
    unit to its system and instance. ``present`` is the label that says that the property holds. A rationale that
    nobody rated is left out. Intervals draw instances. Raises ``ValueError`` naming a unit
    without a system or instance, and where a system is called "all".

    >>> rows = [("a", "u", "yes"), ("b", "u", "no"), ("a", "v", "yes"), ("b", "v", "yes")]
    >>> found = property_table({"leakage": Ratings.from_rows(rows)}, dict(u="s", v="s"), dict(u="x", v="y"))
    >>> found[0].system, found[0].prevalence.value
    ('s', 0.75)
    """
    results = []
    for name, ratings in tables.items():
        for system, part in _by_system(ratings, system_of, instance_of):
            results.append(
                PropertyRow(
                    property=name,
                    system=system,
                    prevalence=_prevalence(part, present, rng, replicates),
                    alpha=_alpha(part, rng, replicates),
                )
            )
    return results


def _by_system(
    ratings: Ratings, system_of: Mapping[str, str], instance_of: Mapping[str, str]
) -> Iterator[tuple[str, Ratings]]:
    """Each system's ratings, then all, with the instances as clusters."""
    lacking = [unit for unit in ratings.units if unit not in system_of or unit not in instance_of]
    if lacking:
        raise ValueError(f"system_of, instance_of: no entry for unit {lacking[0]!r}")
    codes, _ = codes_of([instance_of[unit] for unit in ratings.units])
    clustered = replace(ratings, clusters=codes.astype(np.int32))
    systems = [system_of[unit] for unit in ratings.units]
    if "all" in systems:
        raise ValueError("system_of: no system may be called 'all', which is the name of the total")
    for system in [*sorted(set(systems)), "all"]:
        chosen = np.array([system in (found, "all") for found in systems], dtype=bool)
        yield system, clustered.where(chosen[ratings.unit])


def _alpha(ratings: Ratings, rng: np.random.Generator | None, replicates: int) -> Estimate:
    return alpha_estimate(ratings, rng=rng, replicates=replicates, level="nominal")


def _prevalence(ratings: Ratings, present: str, rng: np.random.Generator | None, replicates: int) -> Estimate:
    code = ratings.labels.index(present) if present in ratings.labels else -1
    size = len(ratings.units)
    given = np.bincount(ratings.unit, minlength=size)
    seen = np.bincount(ratings.unit[ratings.value == code], minlength=size)
    return ratio_estimate(
        seen / np.maximum(given, 1),
        given > 0,
        np.zeros(size) if ratings.clusters is None else ratings.clusters,
        rng=rng,
        replicates=replicates,
        reason="no rationale was rated",
    )
