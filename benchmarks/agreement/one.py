"""One measurement in a separate process, printed as JSON: ``python -m benchmarks.agreement.one NAME [arguments]``."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.agreement.data import judgments
from evaluation.agreement import agreement_with_rest, dawid_skene, krippendorff_alpha, pairwise_kappa
from evaluation.agreement.counts import count_units
from evaluation.core.ratings_table import Ratings


def peak() -> float:
    """Peak resident memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(task: Callable[[], Any], times: dict[str, float], name: str) -> Any:
    start, used = time.perf_counter(), time.process_time()
    result = task()
    times[name] = round(time.perf_counter() - start, 4)
    times[f"{name} (processor)"] = round(time.process_time() - used, 4)
    return result


def again(table: Ratings) -> Ratings:
    """The same rows as a new table, checked and sorted again."""
    return Ratings(table.raters, table.units, table.labels, table.rater, table.unit, table.value)


def ours(ratings: int, per_unit: int, raters: int) -> dict[str, Any]:
    """All statistics of a million judgments."""
    table = judgments(ratings, per_unit, raters)
    before = peak()
    times: dict[str, float] = {}

    def everything() -> dict[str, float]:
        fresh = timed(lambda: again(table), times, "check and order")
        alpha = timed(lambda: krippendorff_alpha(fresh), times, "alpha")
        kappas = timed(lambda: pairwise_kappa(fresh), times, "kappa of all pairs")
        rest = timed(lambda: agreement_with_rest(fresh), times, "each rater with the rest")
        model = timed(lambda: dawid_skene(fresh), times, "Dawid-Skene")
        return {
            "alpha": alpha.value,
            "pairs": len(kappas),
            "kappa sum": float(np.nansum(kappas.kappa)),
            "mean rest": float(np.nanmean(rest.agreement)),
            "iterations": model.iterations,
            "prior": model.prior.tolist(),
        }

    found = timed(everything, times, "all")
    return {"seconds": times, "peak MB": peak(), "MB before": before, "found": found}


def krippendorff_package(ratings: int, per_unit: int, raters: int) -> dict[str, Any]:
    import krippendorff

    table = judgments(ratings, per_unit, raters)
    times: dict[str, float] = {}
    counts = np.zeros((len(table.units), 3), dtype=np.int64)
    np.add.at(counts, (table.unit, table.value), 1)
    found = timed(
        lambda: krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"),
        times,
        "from value counts",
    )
    mine = krippendorff_alpha(table).value
    if len(table.units) <= 100_000:  # its matrix of raters by units
        matrix = np.full((raters, len(table.units)), np.nan)
        matrix[table.rater, table.unit] = table.value
        timed(lambda: krippendorff.alpha(matrix, level_of_measurement="nominal"), times, "from a matrix")
    return {"seconds": times, "peak MB": peak(), "difference": abs(found - mine)}


def scikit_learn(ratings: int, per_unit: int, raters: int, sample: int = 2000) -> dict[str, Any]:
    """``cohen_kappa_score`` over a sample of pairs; its time for all pairs is extrapolated from that."""
    from sklearn.metrics import cohen_kappa_score

    table = judgments(ratings, per_unit, raters)
    kappas = pairwise_kappa(table)
    matrix = np.full((raters, len(table.units)), -1, dtype=np.int8)
    matrix[table.rater, table.unit] = table.value
    chosen = np.random.default_rng(1).choice(len(kappas), min(sample, len(kappas)), replace=False)
    worst = 0.0
    start, used = time.perf_counter(), time.process_time()
    for index in chosen:
        a, b = matrix[kappas.sums.a[index]], matrix[kappas.sums.b[index]]
        both = (a >= 0) & (b >= 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = cohen_kappa_score(a[both], b[both], labels=[0, 1, 2])
        if np.isnan(found) != np.isnan(kappas.kappa[index]):
            worst = np.inf
        elif not np.isnan(found):
            worst = max(worst, abs(found - kappas.kappa[index]))
    each, processor = (
        (clock() - t) / chosen.size for clock, t in ((time.perf_counter, start), (time.process_time, used))
    )
    times = {
        "all pairs, from a sample": round(each * len(kappas), 1),
        "all pairs, from a sample (processor)": round(processor * len(kappas), 1),
    }
    return {"seconds": times, "peak MB": peak(), "pairs compared": int(chosen.size), "difference": worst}


def crowd_kit(ratings: int, per_unit: int, raters: int) -> dict[str, Any]:
    import warnings

    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    table = judgments(ratings, per_unit, raters)
    frame = pd.DataFrame({"task": table.unit, "worker": table.rater, "label": table.value})
    times: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = timed(lambda: DawidSkene(100).fit_predict_proba(frame), times, "Dawid-Skene")
    mine = np.maximum(dawid_skene(table).posterior, 1e-10)
    difference = float(np.abs(found.sort_index().sort_index(axis=1).to_numpy() - mine).max())
    return {"seconds": times, "peak MB": peak(), "difference": difference}


def bootstrap(ratings: int, per_unit: int, raters: int, replicates: int = 1000) -> dict[str, Any]:
    """Replicates of alpha, mean kappa and precision; for comparison, a few replicates of a bootstrap that resamples rows."""
    from evaluation.agreement.bootstrap import cluster_sums, ratio, resampled_totals
    from evaluation.agreement.intervals import replicate_counts
    from evaluation.agreement.kappa_jackknife import jackknife_kappas

    table = judgments(ratings, per_unit, raters)
    kappas = pairwise_kappa(table)
    rng = np.random.default_rng(0)
    times: dict[str, float] = {}
    timed(
        lambda: replicate_counts(table, rng=rng, replicates=replicates), times, "alpha, percent, AC1, Fleiss"
    )
    timed(
        lambda: jackknife_kappas(table, kappas),
        times,
        "mean kappa",
    )
    right = (table.value == table.unit % 3).astype(float)

    def precision() -> Any:
        return ratio(
            resampled_totals(cluster_sums([right, np.ones(right.size)], table.unit), replicates, rng)
        )

    timed(precision, times, "precision")
    start = time.process_time()
    grouped = table.grouped
    for _ in range(3):
        units = rng.integers(0, len(table.units), len(table.units))
        rows = (grouped.start[units][:, None] + np.arange(per_unit)).ravel()
        new = np.repeat(np.arange(units.size, dtype=np.int32), per_unit)
        drawn = Ratings(
            table.raters, table.units, table.labels, grouped.rater[rows], new, grouped.value[rows]
        )
        krippendorff_alpha(drawn), pairwise_kappa(drawn)
    by_rows = (time.process_time() - start) / 3 * replicates
    return {"seconds": times, "peak MB": peak(), "resampling rows, seconds of processor": round(by_rows, 1),
            "pairs averaged": int(kappas.averaged.sum())}  # fmt: skip


def counting(ratings: int, per_unit: int, raters: int) -> dict[str, Any]:
    """Only the label counts, for the memory of the input itself."""
    table = judgments(ratings, per_unit, raters)
    count_units(table)
    return {"peak MB": peak()}


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*map(int, arguments))))
