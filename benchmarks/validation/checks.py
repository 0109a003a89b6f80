"""Every statistic compared with an independent implementation or a published table: the cases and the largest difference.

    python -m benchmarks.validation.checks

Random tables of 2-6 raters, 2-30 units and 2-5 labels, from chance to near agreement, some with missing ratings; seeded.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.validation.comparing import Check, compared, tables
from benchmarks.validation.further_checks import (
    ac2,
    alternative_test,
    conger,
    descriptive,
    intraclass,
    published_laplace,
    similarities,
    soft_labels,
)
from evaluation.agreement import (
    Ratings,
    benjamini_yekutieli,
    cohen_kappa,
    dawid_skene,
    fleiss_kappa,
    gwet_ac1,
    holm,
    krippendorff_alpha,
    paired_permutation_test,
    paired_t_test,
    percent_agreement,
)
from evaluation.metrics import correlation_ratio, theils_u, within_instance_correlation
from tests.evaluation.agreement.tables import KRIPPENDORFF, LEVELS, ratings_of

HERE = Path(__file__).parent


def alpha(level: str) -> Check:
    import krippendorff

    def pairs() -> Iterator[tuple[float, float]]:
        for matrix in tables(200, seed=1):
            mine = krippendorff_alpha(ratings_of(matrix, level=level)).value
            if np.isnan(mine):
                continue
            yield mine, float(krippendorff.alpha(matrix, level_of_measurement=level))

    return compared(f"Krippendorff's alpha, {level}", "krippendorff (PyPI)", pairs())


def published_alpha() -> Check:
    values = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
    pairs = (
        (round(krippendorff_alpha(ratings_of(KRIPPENDORFF, level=level)).value, 3), value)
        for level, value in values.items()
    )
    return compared(
        "Krippendorff's alpha, four levels", "Krippendorff (2011), 4 coders x 12 units, 3 decimals", pairs
    )


def published_by_irrcac() -> Check:
    """The examples in the documentation of Gwet's irrCAC, on the table of ``published_alpha``."""
    table = ratings_of(KRIPPENDORFF)
    pairs = (
        (round(found.value, 5), value)
        for found, value in ((fleiss_kappa(table, unequal=True), 0.76117), (gwet_ac1(table), 0.77544))
    )
    return compared(
        "Fleiss' kappa with unequal numbers of raters, AC1", "irrCAC's documentation, 5 decimals", pairs
    )


def kappa(weights: str) -> Check:
    from sklearn.metrics import cohen_kappa_score

    def pairs() -> Iterator[tuple[float, float]]:
        for matrix in tables(150, seed=2, missing=False):
            labels = [str(i) for i in range(1, 7)]
            for a, b in combinations(matrix.astype(int), 2):
                mine = cohen_kappa(list(map(str, a)), list(map(str, b)), weights=weights, labels=labels).value  # type: ignore[arg-type]
                with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
                    warnings.simplefilter("ignore")
                    theirs = cohen_kappa_score(
                        a, b, labels=range(1, 7), weights=None if weights == "nominal" else weights
                    )
                yield mine, float(theirs)

    return compared(f"Cohen's kappa, {weights} weights", "scikit-learn", pairs())


def fleiss() -> Check:
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as theirs

    def pairs() -> Iterator[tuple[float, float]]:
        for matrix in tables(300, seed=3, missing=False):
            mine = fleiss_kappa(ratings_of(matrix)).value
            if not np.isnan(mine):
                yield mine, float(theirs(aggregate_raters(matrix.T.astype(int))[0]))

    return compared("Fleiss' kappa", "statsmodels", pairs())


def agreement_by_definition() -> Check:
    """Computed from every pair of raters of every unit, by definition."""

    def pairs() -> Iterator[tuple[float, float]]:
        for matrix in tables(200, seed=4):
            shares = []
            for unit in matrix.T:
                given = unit[~np.isnan(unit)]
                if given.size > 1:
                    shares.append(np.mean([a == b for a, b in combinations(given, 2)]))
            yield percent_agreement(ratings_of(matrix)).value, float(np.mean(shares)) if shares else np.nan

    return compared("percent agreement", "every pair of ratings, by definition", pairs())


def published_ac1() -> Check:
    """The 2 x 2 table [118, 5; 2, 0] of Gwet."""
    rows = [("y", "y")] * 118 + [("y", "n")] * 5 + [("n", "y")] * 2
    table = Ratings.from_rows(
        (rater, f"u{n}", label) for n, row in enumerate(rows) for rater, label in zip("ab", row, strict=True)
    )
    kappa_value = cohen_kappa([a for a, _ in rows], [b for _, b in rows]).value
    found = (percent_agreement(table).value, kappa_value, gwet_ac1(table).value)
    return compared(
        "percent agreement, kappa, AC1",
        "2 x 2 table [118, 5; 2, 0], 3 decimals",
        ((round(mine, 3), value) for mine, value in zip(found, (0.944, -0.023, 0.941), strict=True)),
    )


def dawid_skene_posteriors() -> Check:
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    def pairs() -> Iterator[tuple[float, float]]:
        for matrix in tables(40, seed=5):
            table = ratings_of(matrix)
            frame = pd.DataFrame({"task": table.unit, "worker": table.rater, "label": table.value})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = DawidSkene(100).fit_predict_proba(frame).sort_index().sort_index(axis=1)
            rated = np.unique(table.unit)
            mine = np.maximum(dawid_skene(table).posterior[rated], 1e-10)
            yield float(np.abs(mine[:, theirs.columns] - theirs.to_numpy()).max()), 0.0

    return compared("Dawid-Skene posteriors, each table's largest difference", "crowd-kit", pairs())


def tests_of_differences() -> Iterator[Check]:
    from scipy import stats
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(6)
    samples = [(rng.random(n), rng.random(n)) for n in rng.integers(3, 12, 100)]
    yield compared(
        "paired t-test", "scipy.stats.ttest_rel",
        ((paired_t_test(a, b).p, float(stats.ttest_rel(a, b).pvalue)) for a, b in samples),
    )  # fmt: skip
    yield compared(
        "paired permutation test, exact", "scipy.stats.permutation_test",
        (
            (
                paired_permutation_test(a, b, rng=rng).p,
                float(stats.permutation_test((a, b), lambda x, y, axis: np.mean(x - y, axis=axis),
                      permutation_type="samples", vectorized=True, n_resamples=np.inf).pvalue),
            )
            for a, b in samples if a.size < 11
        ),
    )  # fmt: skip
    for name, method, adjust in (
        ("Holm", "holm", holm),
        ("Benjamini-Yekutieli", "fdr_by", benjamini_yekutieli),
    ):
        families = [rng.random(size) ** 3 for size in rng.integers(1, 12, 100)]
        yield compared(
            f"{name}'s adjusted p values", "statsmodels",
            (
                (float(mine), float(theirs))
                for p in families
                for mine, theirs in zip(adjust(p), multipletests(p, method=method)[1], strict=True)
            ),
        )  # fmt: skip


def associations() -> Iterator[Check]:
    from scipy import stats

    rng = np.random.default_rng(7)

    def theil() -> Iterator[tuple[float, float]]:
        for _ in range(200):
            x, y = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
            joint = np.histogram2d(x, y, bins=(3, 4))[0]
            h_x, h_y, h = (
                stats.entropy(part) for part in (joint.sum(axis=1), joint.sum(axis=0), joint.ravel())
            )
            yield theils_u(list(map(str, x)), list(map(str, y))).value, float((h_x + h_y - h) / h_x)

    def eta() -> Iterator[tuple[float, float]]:
        for _ in range(200):
            group, value = rng.integers(0, 3, 40), rng.normal(size=40)
            f = stats.f_oneway(*(value[group == g] for g in np.unique(group))).statistic
            between, within = np.unique(group).size - 1, 40 - np.unique(group).size
            expected = float((f * between / (f * between + within)) ** 0.5)
            yield correlation_ratio(list(map(str, group)), value).value, expected

    def correlations(which: str, theirs: Callable[..., object]) -> Iterator[tuple[float, float]]:
        for _ in range(200):
            x, y = rng.integers(0, 5, 8).astype(float), rng.integers(0, 5, 8).astype(float)
            if np.ptp(x) and np.ptp(y):
                mine = getattr(within_instance_correlation(x, y, ["i"] * 8), which).value
                yield mine, float(theirs(x, y).statistic)  # type: ignore[attr-defined]

    yield compared("Theil's U", "scipy.stats.entropy", theil())
    yield compared("correlation ratio", "scipy.stats.f_oneway", eta())
    yield compared(
        "Pearson's r within an instance", "scipy.stats.pearsonr", correlations("pearson", stats.pearsonr)
    )
    yield compared(
        "Spearman's rho within an instance",
        "scipy.stats.spearmanr",
        correlations("spearman", stats.spearmanr),
    )


def checks() -> Iterator[Check]:
    """All of them, in the order of the page."""
    yield published_alpha()
    yield published_by_irrcac()
    for level in LEVELS:
        yield alpha(level)
    for weights in ("nominal", "linear", "quadratic"):
        yield kappa(weights)
    yield from conger()
    yield published_ac1()
    yield agreement_by_definition()
    for linear_or_quadratic in ("linear", "quadratic"):
        yield ac2(linear_or_quadratic)  # type: ignore[arg-type]
    yield from intraclass()
    yield fleiss()
    yield dawid_skene_posteriors()
    yield from tests_of_differences()
    yield alternative_test()
    yield soft_labels()
    yield published_laplace()
    yield from associations()
    yield from descriptive()
    yield from similarities()


def main() -> None:
    found = [asdict(check) for check in checks()]
    (HERE / "checks.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
