"""Conger's kappa of four tables as irrCAC gives it, and the statistic by its definition, in plain loops.

The values were made with irrCAC 0.4.4 (PyPI; numpy 1.26, pandas 2.3), which pins packages that the tests can't have::

    from irrCAC.raw import CAC
    for weights in ("identity", "linear", "quadratic"):
        print(CAC(pandas.DataFrame(numpy.array(matrix, dtype=float).T), weights=weights, digits=15).conger())

The last two matrices are its own examples, ``irrCAC.datasets.raw_4raters()`` and ``raw_5observers()``.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

NAN = float("nan")
WEIGHTS = ("nominal", "linear", "quadratic")
#: Raters x units, and the values with nominal, linear and quadratic weights.
IRRCAC = {
    "three raters": (
        [[1, 2, 2, 1, 3, 3, 1, 2, 1, 2], [1, 2, 1, 1, 3, 2, 1, 2, 1, 3], [1, 1, 2, 1, 3, 3, 2, 2, 1, 2]],
        (0.479166666666666, 0.590163934426229, 0.712643678160919),
    ),
    "four raters": (
        [[1, 1, 2, 2, 3, 3, 4, 4], [1, 2, 2, 2, 3, 4, 4, 4], [2, 1, 2, 3, 3, 3, 4, 1], [1, 1, 2, 2, 1, 3, 4, 4]],
        (0.505154639175258, 0.553719008264463, 0.578512396694215),
    ),
    "four raters, missing": (
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, NAN],
            [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
        ],
        (0.762817441303306, 0.813776319966141, 0.857710656222534),
    ),
    "five raters, missing": (
        [
            [1, 1, 2, NAN, 0, 0, 1, 1, 2, 2, NAN, 0, 1, 3, 1],
            [1, 1, 3, 0, 0, 0, 0, NAN, 2, 1, 1, 0, 2, 3, 1],
            [2, 0, 3, 0, 0, 0, 2, 2, 2, 1, 0, 0, 2, 2, 1],
            [NAN, 1, 3, NAN, NAN, NAN, NAN, 0, NAN, 1, 0, 0, 2, 2, NAN],
            [2, NAN, NAN, 0, 0, 0, 1, NAN, 2, NAN, NAN, NAN, NAN, 3, 1],
        ],
        (0.469274278592656, 0.624052415768956, 0.761788060509111),
    ),
}  # fmt: skip


def by_definition(matrix: np.ndarray, weights: str) -> float:
    """From every two ratings of a unit, and every two ratings of two raters; nan where it isn't defined."""

    def distance(a: float, b: float) -> float:
        return {"nominal": float(a != b), "linear": abs(a - b), "quadratic": (a - b) ** 2}[weights]

    units = [unit[~np.isnan(unit)] for unit in matrix.T]
    observed = [
        np.mean([distance(a, b) for a, b in permutations(unit, 2)]) for unit in units if unit.size > 1
    ]
    raters = [given for row in matrix if (given := row[~np.isnan(row)]).size]
    expected = [
        np.mean([distance(a, b) for a in one for b in other]) for one, other in permutations(raters, 2)
    ]
    if not observed or not expected or not np.mean(expected):
        return NAN
    return float(1 - np.mean(observed) / np.mean(expected))
