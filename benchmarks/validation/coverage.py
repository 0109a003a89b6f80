"""Do the metrics' 95 % intervals cover, and do the tests keep their level? Answered on studies with known truth.

    python -m benchmarks.validation.coverage [--runs 1000] [--seed 0] [--out benchmarks/validation/coverage.json]

Each case draws a study, computes an estimate with its interval, and asks whether the population's value lies in it.
With 1,000 runs and a true coverage of 95 %, the share found lies in 93.6-96.4 % nineteen times of twenty.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.validation import judge_cases, reliance_cases
from evaluation.core.estimate import Estimate
from evaluation.metrics import (
    FollowUps,
    Jaccard,
    correlation_ratio,
    generality,
    paired_difference,
    precision_by_instance,
    prediction_powered_precision,
    prediction_powered_simulatable,
    simulatability,
    theils_u,
    utility,
    within_instance_correlation,
)
from evaluation.metrics.from_ratings import followups_of
from evaluation.planning.synthetic import StudyDesign, draw_study

REPLICATES = 1_000
#: name -> (what one run gives, the population's value)
Case = tuple[Callable[[np.random.Generator], Estimate], float]

DESIGN = StudyDesign(
    instances=100,
    precision=(0.8,),
    follow_ups=10,
    clustering=0.2,
    raters=3,
    redundancy=1,
    accuracy=1.0,
    accuracy_sd=0.0,
)


def precision_case(figure: str) -> Callable[[np.random.Generator], Estimate]:
    def run(rng: np.random.Generator) -> Estimate:
        result = simulatability(draw_study(DESIGN, rng).truth, rng=rng, replicates=REPLICATES)
        return getattr(result, figure)

    return run


def powered_case(figure: str) -> Callable[[np.random.Generator], Estimate]:
    """People on 60 of 300 instances, a simulator that is right on 85 % of the items."""
    design = replace(DESIGN, instances=300, follow_ups=5, simulators={"simulator": 0.85})
    compute = {"precision": prediction_powered_precision, "simulatable": prediction_powered_simulatable}[
        figure
    ]

    def run(rng: np.random.Generator) -> Estimate:
        study = draw_study(design, rng)
        simulator = followups_of(study.truth, study.ratings, "single:simulator")[0]
        chosen = set(rng.choice(sorted(set(study.truth.instance)), 60, replace=False))
        columns = zip(study.truth.unit, study.truth.instance, study.truth.simulated, strict=True)
        people = study.truth.with_labels({unit: label for unit, x, label in columns if x in chosen})
        return compute(people, simulator).estimate

    return run


def answers(
    rng: np.random.Generator, instances: int = 100, systems: int = 3
) -> tuple[list, list, list, list]:
    """Labels before and after with P(right before) .55; after .8 if right before, else .5. Gain: .115."""
    ease = rng.beta(0.55 * 4, 0.45 * 4, instances).repeat(systems)
    before = rng.random(ease.size) < ease
    after = rng.random(ease.size) < np.where(before, 0.8, 0.5)
    instance = [f"x{i}" for i in np.arange(instances).repeat(systems)]
    return (
        ["yes" if b else "no" for b in before],
        ["yes" if a else "no" for a in after],
        ["yes"] * ease.size,
        instance,
    )


def gain(rng: np.random.Generator) -> Estimate:
    return utility(*answers(rng), rng=rng, replicates=REPLICATES).gain


def useful(rng: np.random.Generator) -> Estimate:
    return utility(*answers(rng), rng=rng, replicates=REPLICATES).shares["useful"]


#: P(x, y) with a clear association: U(x | y) of it is the truth of the case.
TABLE = np.array([[0.30, 0.05, 0.05], [0.05, 0.30, 0.25]])


def true_u() -> float:
    x, y = TABLE.sum(axis=1), TABLE.sum(axis=0)
    h = -(x * np.log(x)).sum()
    return float((h + (TABLE * np.log(TABLE / y)).sum()) / h)


def associated(rng: np.random.Generator) -> Estimate:
    cell = rng.choice(TABLE.size, size=500, p=TABLE.ravel())
    return theils_u([str(c // 3) for c in cell], [str(c % 3) for c in cell], rng=rng, replicates=REPLICATES)


def ratio_of_groups(rng: np.random.Generator) -> Estimate:
    """Three groups of equal probability with means -1, 0, 1 and unit variance: eta^2 = (2/3) / (5/3)."""
    group = rng.integers(0, 3, 500)
    return correlation_ratio(
        [str(g) for g in group], group - 1 + rng.normal(size=500), rng=rng, replicates=REPLICATES
    )


def slightly_associated(strength: float, pairs: int) -> Case:
    """Three labels and two others, of which a share of the pairs goes together; U near 0, where it is biased."""
    table = np.full((3, 2), (1 - strength) / 6)
    table[[0, 1, 2], [0, 1, 1]] += strength / 3

    def run(rng: np.random.Generator) -> Estimate:
        cell = rng.choice(6, size=pairs, p=table.ravel())
        return theils_u(
            [str(c // 2) for c in cell], [str(c % 2) for c in cell], rng=rng, replicates=REPLICATES
        )

    own = -3 * np.log(1 / 3) / 3
    other, joint = (-(p * np.log(p)).sum() for p in (table.sum(axis=0), table[table > 0]))
    return run, float((own + other - joint) / own)


def slightly_different_groups(effect: float, values: int) -> Case:
    """Three groups whose means are apart by ``effect`` standard deviations."""
    truth = float((2 / 3 * effect**2 / (2 / 3 * effect**2 + 1)) ** 0.5)

    def run(rng: np.random.Generator) -> Estimate:
        group = rng.integers(0, 3, values)
        numbers = (group - 1) * effect + rng.normal(size=values)
        return correlation_ratio([str(g) for g in group], numbers, rng=rng, replicates=REPLICATES)

    return run, truth


def uncorrelated(rng: np.random.Generator) -> Estimate:
    instance = [f"x{i}" for i in np.arange(100).repeat(4)]
    return within_instance_correlation(
        rng.integers(0, 11, 400), rng.integers(0, 3, 400), instance, rng=rng, replicates=REPLICATES
    ).pearson


def difference(rng: np.random.Generator) -> Estimate:
    """Two systems, .85 and .7, compared on the instances that both have."""
    design = replace(DESIGN, precision=(0.85, 0.7), follow_ups=5)
    table = draw_study(design, rng).truth
    first, second = (precision_by_instance(table.where("system", name)) for name in design.systems)
    return paired_difference(first, second, rng=rng, replicates=REPLICATES, permutations=1).difference


def null_p(test: str) -> Callable[[np.random.Generator], float]:
    """p of the same comparison where the two systems do not differ."""
    design = replace(DESIGN, instances=60, precision=(0.8, 0.8), follow_ups=5)

    def run(rng: np.random.Generator) -> float:
        table = draw_study(design, rng).truth
        first, second = (precision_by_instance(table.where("system", name)) for name in design.systems)
        found = paired_difference(first, second, rng=rng, replicates=2, permutations=1_999)
        return float(getattr(found, test))

    return run


WORDS = np.array([f"word{i}" for i in range(30)])


def texts_study(rng: np.random.Generator, instances: int) -> FollowUps:
    """Five follow-ups of four words each, from a small vocabulary of the instance's own."""
    texts = [
        " ".join(rng.choice(own, 4))
        for own in (rng.choice(WORDS, 12) for _ in range(instances))
        for _ in range(5)
    ]
    names = [f"x{i:06d}" for i in np.arange(instances).repeat(5)]
    size = len(texts)
    return FollowUps(
        unit=[f"u{i}" for i in range(size)],
        explanation=names,
        instance=names,
        system=["s"] * size,
        simulated=["yes"] * size,
        real=["yes"] * size,
        text=texts,
    )


#: The mean over 300,000 explanations drawn so (standard error .00006).
TRUE_GENERALITY = 0.75583


def general(rng: np.random.Generator) -> Estimate:
    return generality(texts_study(rng, 100), Jaccard(), rng=rng, replicates=REPLICATES).generality


def cases() -> dict[str, Case]:
    return {
        "precision, macro": (precision_case("precision"), 0.8),
        "precision, micro": (precision_case("precision_micro"), 0.8),
        "precision, difference of two systems": (difference, 0.15),
        "simulatable share": (precision_case("simulatable"), DESIGN.true_simulatable),
        "generality, Jaccard": (general, TRUE_GENERALITY),
        "prediction-powered precision": (powered_case("precision"), 0.8),
        "prediction-powered simulatable share": (powered_case("simulatable"), DESIGN.true_simulatable),
        "utility, share useful": (useful, 0.45 * 0.5),
        "utility, gain": (gain, 0.45 * 0.5 - 0.55 * 0.2),
        "Theil's U": (associated, true_u()),
        "correlation ratio": (ratio_of_groups, (2 / 5) ** 0.5),
        "Theil's U, weak": slightly_associated(0.2, 300),
        "Theil's U, strong, few pairs": slightly_associated(0.8, 120),
        "correlation ratio, weak": slightly_different_groups(0.2, 300),
        "correlation within an instance": (uncorrelated, 0.0),
        **reliance_cases.coverage_cases(REPLICATES),
        **judge_cases.coverage_cases(),
    }


def covered(case: Case, runs: int, seed: int) -> dict[str, float]:
    """Share of runs whose interval holds the truth, lies below or above it; mean, sd and mean width."""
    run, truth = case
    found = [run(np.random.default_rng([seed, number])) for number in range(runs)]
    low, high = (np.array([getattr(e, end) for e in found]) for end in ("low", "high"))
    return {
        "truth": truth,
        "mean": float(np.mean([e.value for e in found])),
        "sd": float(np.std([e.value for e in found])),
        "coverage": float(((low <= truth) & (truth <= high)).mean()),
        "below": float((high < truth).mean()),
        "above": float((low > truth).mean()),
        "width": float((high - low).mean()),
    }


def level(run: Callable[[np.random.Generator], float], runs: int, seed: int) -> dict[str, float]:
    """Share of null studies with p <= .05, and <= .01."""
    p = np.array([run(np.random.default_rng([seed, number])) for number in range(runs)])
    return {"type I error at .05": float((p <= 0.05).mean()), "at .01": float((p <= 0.01).mean())}


def tests() -> dict[str, Callable[[np.random.Generator], float]]:
    return {
        "paired permutation test of precision": null_p("p_permutation"),
        "paired t-test of precision": null_p("p_t"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON to write; cases that are not run again are kept")
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    options = parser.parse_args()
    kept = json.loads(options.out.read_text("utf-8"))["cases"] if options.only and options.out else {}
    results: dict[str, dict[str, float]] = kept
    for name, case in cases().items():
        if options.only not in name:
            continue
        start = time.perf_counter()
        results[name] = covered(case, options.runs, options.seed) | {"seconds": time.perf_counter() - start}
        print(f"{name:40}" + "  ".join(f"{k} {v:.4f}" for k, v in results[name].items()), flush=True)
    for name, run in tests().items():
        if options.only not in name:
            continue
        results[name] = level(run, options.runs, options.seed)
        print(f"{name:40}" + "  ".join(f"{k} {v:.4f}" for k, v in results[name].items()), flush=True)
    if options.out:
        about = {
            "runs": options.runs,
            "seed": options.seed,
            "replicates": REPLICATES,
            "date": datetime.now(tz=UTC).date().isoformat(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        options.out.write_text(
            json.dumps({"about": about, "cases": results}, indent=2) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
