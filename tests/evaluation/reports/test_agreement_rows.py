"""The table of agreement has the same rows for both sets of labels, whatever is defined in each."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from annotator.hit_types.registry import hit_type_get
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings
from evaluation.reports.agreement_data import Agreement, agreement_of
from evaluation.reports.sections.agreement import _table

ROWS = [
    (rater, f"u{unit}", "yes" if (unit + number) % 3 else "no")
    for number, rater in enumerate(("ann", "bob", "cy"))
    for unit in range(12)
]
CTX: Any = SimpleNamespace(
    people="people", data=SimpleNamespace(table=lambda _: SimpleNamespace(unanswered=[np.array([])]))
)


def sides() -> tuple[Agreement, Agreement]:
    variable = hit_type_get("simulation").variables[0]
    ratings = Ratings.from_rows(ROWS, labels=variable.labels, level="nominal", abstain=variable.abstain)
    whole = agreement_of(ratings, min_overlap=1, replicates=0, rng=None)
    return whole, agreement_of(ratings, "statements", min_overlap=1, replicates=0, rng=None)


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("what", ["corrected", "further"])
def test_a_statistic_that_one_set_of_labels_lacks_is_not_defined_there(what: str, turn: int) -> None:
    """A study in which few pairs of raters share many items: the mean of kappa is corrected with one set of labels only."""
    whole, statements = sides()
    whole, statements = replace(whole, corrected=None), replace(statements, corrected=None)
    if what == "corrected":
        statements = replace(statements, corrected=Estimate(0.4, n=3))
    else:
        assert statements.conger is not None
        whole = replace(whole, further={})
    pair = [("all", whole), ("statements", statements)][::turn]
    table = _table(CTX, hit_type_get("simulation").variables[0], dict(pair))
    titles = [row.head[0] for row in table.rows]
    assert {len(row.cells) for row in table.rows} == {4}
    wanted = "– corrected for few shared units" if what == "corrected" else "Conger’s κ, people"
    assert wanted in titles
    assert ("– corrected for few shared units" in titles) == (what == "corrected")
