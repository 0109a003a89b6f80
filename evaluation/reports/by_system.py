"""Statistics of ratings by system."""

from __future__ import annotations

import numpy as np

from evaluation.agreement.intervals import alpha_estimate
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.reports.context import Context


def systems_of(ctx: Context, variable: str) -> list[str]:
    """The systems of a variable's units, sorted."""
    found = ctx.data.table(variable).units.system
    return sorted({name for name in found.values() if name})


def of_system(ctx: Context, variable: str, system: str = "") -> Ratings:
    """The ratings of one system's units that count (see ``Context.of_raters``); without a system, of all units."""
    ratings = ctx.ratings(variable)
    if system:
        mask = ctx.data.table(variable).units.system.values() == system
        ratings = ratings.where(np.asarray(mask, dtype=bool)[ratings.unit])
    return ctx.of_raters(ratings)


def alpha_of(ctx: Context, ratings: Ratings) -> Estimate:
    """Krippendorff's alpha with its interval."""
    return alpha_estimate(ratings, **ctx.resampling)
