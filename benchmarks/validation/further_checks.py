"""More of ``checks``: intraclass correlations, AC2, the alternative annotator test, distributions of labels, similarities of texts."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.validation.comparing import Check, compared, tables
from evaluation.agreement import (
    Ratings,
    alternative_annotator_test,
    benjamini_yekutieli,
    conger_kappa,
    gwet_ac2,
    intraclass_correlation,
    mixed_correlation,
    soft_scores,
)
from evaluation.agreement.descriptive import mean_label, median_label, unit_distributions
from evaluation.metrics import Bleu, Cosine
from evaluation.metrics.laplace import laplace_fit
from tests.evaluation.agreement.conger_tables import IRRCAC, WEIGHTS, by_definition
from tests.evaluation.agreement.tables import ratings_of
from tests.evaluation.metrics.factories import random_texts

#: Shrout and Fleiss (1979), Table 2 (four judges, six targets), and the six correlations of their Table 4.
SHROUT_FLEISS = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
PUBLISHED_ICC = {
    "ICC(1,1)": 0.17, "ICC(2,1)": 0.29, "ICC(3,1)": 0.71, "ICC(1,k)": 0.44, "ICC(2,k)": 0.62, "ICC(3,k)": 0.91,
}  # fmt: skip


def conger() -> Iterator[Check]:
    def value(matrix: np.ndarray, weights: str) -> float:
        return conger_kappa(ratings_of(matrix, level="interval"), weights=weights).value  # type: ignore[arg-type]

    recorded = [
        (value(np.array(matrix, dtype=float), weights), expected)
        for matrix, values in IRRCAC.values()
        for weights, expected in zip(WEIGHTS, values, strict=True)
    ]
    yield compared("Conger's kappa, three kinds of weights", "irrCAC (recorded)", iter(recorded))
    for weights in WEIGHTS:
        pairs = ((value(m, weights), by_definition(m, weights)) for m in tables(200, seed=12))
        yield compared(f"Conger's kappa, {weights} weights", "every pair of ratings, by definition", pairs)


def of_pingouin() -> Iterator[tuple[float, float]]:
    """All six intraclass correlations of four tables, and pingouin's, which were recorded with every digit."""
    recorded = json.loads((Path(__file__).parent / "pingouin_icc.json").read_text("utf-8"))
    for table in recorded["tables"].values():
        rows = [
            (f"r{rater}", f"u{unit:02}", f"{value:g}")
            for rater, given in enumerate(table["ratings"])
            for unit, value in enumerate(given)
        ]
        forms = intraclass_correlation(Ratings.from_rows(rows, level="interval")).forms
        for name, expected in table["icc"].items():
            yield forms[name].value, expected


def intraclass() -> Iterator[Check]:
    forms = intraclass_correlation(ratings_of(np.array(SHROUT_FLEISS, dtype=float), level="interval")).forms
    yield compared(
        "intraclass correlations, six forms",
        "Shrout and Fleiss (1979), Table 4, 2 decimals",
        ((round(forms[name].value, 2), value) for name, value in PUBLISHED_ICC.items()),
    )

    yield compared("intraclass correlations, six forms", "pingouin (recorded)", of_pingouin())

    def pairs() -> Iterator[tuple[float, float]]:
        """Single-rater forms from the mean squares of statsmodels' analysis of variance."""
        import pandas as pd
        from statsmodels.formula.api import ols
        from statsmodels.stats.anova import anova_lm

        for matrix in tables(60, seed=8, missing=False):
            k, n = matrix.shape
            if not np.ptp(matrix) or n < 3:
                continue
            rows = [(str(r), str(u), matrix[r, u]) for r in range(k) for u in range(n)]
            frame = pd.DataFrame(rows, columns=["rater", "unit", "x"])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                squares = anova_lm(ols("x ~ C(unit) + C(rater)", frame).fit())["mean_sq"]
            b, j, e = squares["C(unit)"], squares["C(rater)"], squares["Residual"]
            if b + (k - 1) * e < 1e-6 or b + (k - 1) * e + k * (j - e) / n < 1e-6:
                continue
            found = intraclass_correlation(ratings_of(matrix, level="interval")).forms
            if found["ICC(3,1)"].defined:
                yield found["ICC(3,1)"].value, float((b - e) / (b + (k - 1) * e))
            if found["ICC(2,1)"].defined:
                yield found["ICC(2,1)"].value, float((b - e) / (b + (k - 1) * e + k * (j - e) / n))

    yield compared("intraclass correlations ICC(2,1), ICC(3,1)", "statsmodels' analysis of variance", pairs())
    yield compared(
        "intraclass correlations of unbalanced raters, and the deviance", "statsmodels' MixedLM", mixed()
    )


def mixed() -> Iterator[tuple[float, float]]:
    """ICC(2,1), ICC(3,1) and the relative deviance of mixed models whose raters have one to four of the units each."""
    from tests.evaluation.agreement.unbalanced import of_statsmodels, unbalanced

    for seed in range(1, 6):
        rows = unbalanced(seed)
        theirs = of_statsmodels(rows)
        rater, unit = (float(part) for part in theirs.vcomp)
        found = mixed_correlation(Ratings.from_rows(rows, level="interval"), intervals=False)
        yield found.forms["ICC(2,1)"].value, unit / (unit + rater + theirs.scale)
        yield found.forms["ICC(3,1)"].value, unit / (unit + theirs.scale)
        yield found.deviance / (-2 * theirs.llf), 1.0


def soft_labels() -> Check:
    """Jensen-Shannon divergence of a simulator's label from people's, each of whom is left out in turn."""
    from scipy.spatial.distance import jensenshannon

    def pairs() -> Iterator[tuple[float, float]]:
        for matrix in tables(100, seed=14):
            people, own = matrix[:-1], matrix[-1]
            labels = np.unique(matrix[~np.isnan(matrix)])
            expected = []
            for unit, label in zip(people.T, own, strict=True):
                given = unit[~np.isnan(unit)]
                if given.size < 2 or np.isnan(label):
                    continue
                exact = (labels == label).astype(float)
                rest = [np.delete(given, place) for place in range(given.size)]
                expected.append(
                    np.mean(
                        [
                            jensenshannon((one[:, None] == labels).mean(axis=0), exact, base=2) ** 2
                            for one in rest
                        ]
                    )
                )
            name = f"r{len(matrix) - 1:03}"
            table = ratings_of(matrix, simulators=[name])
            if expected and name in table.raters:
                yield soft_scores(table, name).divergence.value, float(np.mean(expected))

    return compared("divergence of a simulator's labels from people's", "scipy's jensenshannon", pairs())


def published_laplace() -> Check:
    """lme4's fit of cbpp: coefficients, their standard errors, the herds' standard deviation."""
    from tests.evaluation.metrics.cbpp import HERD, INCIDENCE, PERIOD, SIZE

    exog = np.column_stack([np.ones(56), *(np.array(PERIOD) == period for period in (2, 3, 4))])
    found = laplace_fit(INCIDENCE, exog, {"herd": np.array(HERD) - 1}, trials=SIZE)
    mine = [*found.coefficients, *np.sqrt(np.diag(found.covariance)), found.random_sd["herd"]]
    published = [-1.3985, -0.9923, -1.1287, -1.5803, 0.2325, 0.3066, 0.3266, 0.4274, 0.6423]
    pairs = ((round(float(one), 4), value) for one, value in zip(mine, published, strict=True))
    return compared("Laplace's fit of a logistic mixed model", "lme4's fit of cbpp, 4 decimals", pairs)


def ac2(weights: Literal["linear", "quadratic"]) -> Check:
    """Computed from every pair of ratings of every unit, with Gwet's formula of agreement by chance."""
    power = 1 if weights == "linear" else 2

    def credit(a: float, b: float) -> float:
        return float(1 - (abs(a - b) / 4) ** power)

    def pairs() -> Iterator[tuple[float, float]]:
        total = sum(credit(a, b) for a in range(5) for b in range(5))
        for matrix in tables(200, seed=9):
            matrix = np.minimum(matrix, 5)
            rated = [unit[~np.isnan(unit)] for unit in matrix.T]
            agreed = [
                np.mean([credit(a, b) for a, b in combinations(unit, 2)]) for unit in rated if unit.size > 1
            ]
            found = gwet_ac2(
                ratings_of(matrix, level="interval", labels=[str(i) for i in range(1, 6)]), weights=weights
            ).value
            if not agreed:
                yield found, np.nan
                continue
            shares = np.mean(
                [[np.mean(u == label) for label in range(1, 6)] for u in rated if u.size], axis=0
            )
            chance = total / 20 * float((shares * (1 - shares)).sum())
            yield found, (float(np.mean(agreed)) - chance) / (1 - chance)

    return compared(f"Gwet's AC2, {weights} weights", "every pair of ratings, by definition", pairs())


def descriptive() -> Iterator[Check]:
    from scipy import stats

    def means() -> Iterator[tuple[float, float]]:
        for matrix in tables(100, seed=10):
            table = ratings_of(matrix, level="interval")
            yield mean_label(table).value, float(np.nanmean(matrix))
            yield median_label(table).value, float(np.nanmedian(matrix))

    def entropies() -> Iterator[tuple[float, float]]:
        for matrix in tables(100, seed=11):
            found = unit_distributions(ratings_of(matrix))
            rated = [unit[~np.isnan(unit)] for unit in matrix.T if not np.isnan(unit).all()]
            for mine, unit in zip(sorted(found.entropy), sorted(map(_entropy, rated)), strict=True):
                yield float(mine), unit

    def _entropy(unit: np.ndarray) -> float:
        return float(stats.entropy(np.unique(unit, return_counts=True)[1], base=2))

    yield compared("mean and median of labels", "numpy.nanmean, numpy.nanmedian", means())
    yield compared("entropy of a unit's labels", "scipy.stats.entropy", entropies())


def similarities() -> Iterator[Check]:
    import sacrebleu
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    rng = np.random.default_rng(12)
    samples = [random_texts(rng, 8) for _ in range(20)]
    scorer = sacrebleu.BLEU(effective_order=True)
    yield compared(
        "sentence BLEU of two follow-ups", "sacrebleu",
        (
            (float(mine), scorer.sentence_score(a, [b]).score / 100)
            for texts in samples
            for row, a in zip(Bleu().matrix(texts), texts, strict=True)
            for mine, b in zip(row, texts, strict=True)
        ),
    )  # fmt: skip

    def cosines() -> Iterator[tuple[float, float]]:
        for texts in samples:
            mine = Cosine()
            mine.prepare(texts)
            vectors = TfidfVectorizer().fit(sorted(set(texts))).transform(texts)
            empty = np.asarray(vectors.sum(axis=1)).ravel() == 0
            theirs = cosine_similarity(vectors)
            for (i, j), value in np.ndenumerate(mine.matrix(texts)):
                if not (empty[i] or empty[j]):
                    yield float(value), float(theirs[i, j])

    yield compared("cosine of two follow-ups, TF-IDF", "scikit-learn", cosines())


def alternative_test() -> Check:
    """A plain reimplementation with scipy's t-test: nominal labels, each person left out in turn."""
    from scipy import stats

    def pairs() -> Iterator[tuple[float, float]]:
        for rng in np.random.default_rng(13).spawn(30):
            truth = rng.integers(0, 3, 80)
            given = np.where(rng.random((4, 80)) < 0.75, truth, rng.integers(0, 3, (4, 80)))
            rated = rng.random((4, 80)) < 0.9
            rated[3] = True  # the simulator
            names = ["a", "b", "c", "model"]
            rows = [
                (names[r], f"u{u:02}", str(given[r, u])) for r in range(4) for u in range(80) if rated[r, u]
            ]
            found = alternative_annotator_test(
                Ratings.from_rows(rows, simulators=["model"]), "model", epsilon=0.1
            )
            advantages, p = [], []
            for person in range(3):
                mine, model = [], []
                for unit in range(80):
                    rest = [given[r, unit] for r in range(3) if r != person and rated[r, unit]]
                    if rated[person, unit] and rest:
                        own = np.mean([given[person, unit] == other for other in rest])
                        its = np.mean([given[3, unit] == other for other in rest])
                        mine.append(float(own >= its))
                        model.append(float(its >= own))
                advantages.append(np.mean(model))
                difference = np.subtract(mine, model)
                p.append(float(stats.ttest_1samp(difference, 0.1, alternative="less").pvalue))
            yield found.advantage_probability.value, float(np.mean(advantages))
            rejected = np.array(benjamini_yekutieli(p)) < 0.05
            yield found.winning_rate.value, float(rejected.mean())

    return compared(
        "alternative annotator test: advantage probability, winning rate",
        "plain loops with scipy.stats.ttest_1samp",
        pairs(),
    )
