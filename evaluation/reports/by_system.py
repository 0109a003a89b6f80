"""Statistics of ratings by system."""

from __future__ import annotations

import numpy as np

from evaluation.agreement import krippendorff_alpha
from evaluation.agreement.bootstrap import add_interval
from evaluation.agreement.intervals import replicate_counts
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.reports.context import Context


def systems_of(ctx: Context, variable: str) -> list[str]:
    """The systems of a variable's units, sorted."""
    found = ctx.data.table(variable).units.system
    return sorted({name for name in found.values() if name})


def of_system(ctx: Context, variable: str, system: str = "") -> Ratings:
    """People's ratings of one system's units; without a system, of all units."""
    ratings = ctx.ratings(variable)
    if system:
        mask = ctx.data.table(variable).units.system.values() == system
        ratings = ratings.where(np.asarray(mask, dtype=bool)[ratings.unit])
    return ratings.people()


def alpha_of(ctx: Context, ratings: Ratings) -> Estimate:
    """Krippendorff's alpha with its interval."""
    found, resampling = krippendorff_alpha(ratings), ctx.resampling
    rng = resampling["rng"]
    if rng is None or not found.defined:
        return found
    drawn = replicate_counts(ratings, rng=rng, replicates=resampling["replicates"])
    return add_interval(found, drawn.values["krippendorff_alpha"], clusters=drawn.clusters, word="instances")
