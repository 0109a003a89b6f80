"""Ratings by raters of unequal numbers of units, and statsmodels' fit of the mixed model to them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def unbalanced(
    seed: int, *, units: int = 40, raters: int = 6, rater_sd: float = 0.5
) -> list[tuple[str, str, str]]:
    """Each unit has one to four of the raters; the first raters have most units."""
    rng = np.random.default_rng(seed)
    unit, rater = rng.normal(0, 1, units), rng.normal(0, rater_sd, raters)
    weight = np.arange(raters, 0, -1.0)
    return [
        (f"r{r}", f"u{u:03}", f"{unit[u] + rater[r] + rng.normal(0, 0.8):.2f}")
        for u in range(units)
        for r in rng.choice(raters, rng.integers(1, 5), replace=False, p=weight / weight.sum())
    ]


def of_statsmodels(rows: list[tuple[str, str, str]]) -> Any:
    """The fit of the same model, with crossed parts as variance components of one group."""
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    frame = pd.DataFrame(rows, columns=["rater", "unit", "y"]).astype({"y": float})
    parts = {"rater": "0 + C(rater)", "unit": "0 + C(unit)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MixedLM.from_formula(
            "y ~ 1", groups=np.ones(len(frame)), vc_formula=parts, re_formula="0", data=frame
        )
        return model.fit(reml=True, method="bfgs", gtol=1e-9)


def one_way_of_statsmodels(rows: list[tuple[str, str, str]]) -> Any:
    """The fit of the model with a part of units and none of raters."""
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    frame = pd.DataFrame(rows, columns=["rater", "unit", "y"]).astype({"y": float})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MixedLM.from_formula("y ~ 1", groups=frame["unit"], data=frame)
        return model.fit(reml=True, method="bfgs", gtol=1e-9)
