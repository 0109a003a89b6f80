"""Studies of known truth: how often intervals cover it, and how often tests reject a null that holds."""

from __future__ import annotations

import numpy as np

from evaluation.agreement import (
    Ratings,
    alternative_annotator_test,
    bootstrap_mean,
    krippendorff_alpha,
    paired_bootstrap,
    paired_permutation_test,
    paired_t_test,
    pairwise_kappa,
)
from evaluation.agreement.bootstrap import add_interval
from evaluation.agreement.intervals import replicate_counts
from evaluation.agreement.kappa_bootstrap import replicate_kappas

#: Raters' shares of honest answers; otherwise they answer at random.
HONEST = np.array([0.9, 0.8, 0.75, 0.7, 0.6])
PREVALENCE = np.array([0.5, 0.3, 0.2])
INSTANCES, PER_INSTANCE = 100, 2


def study(rng: np.random.Generator, instances: int = INSTANCES) -> Ratings:
    """Five raters, two units an instance, whose truths are mostly alike; three of the five rate each unit."""
    units = instances * PER_INSTANCE
    instance = np.repeat(np.arange(instances), PER_INSTANCE)
    common = rng.choice(3, instances, p=PREVALENCE)[instance]
    truth = np.where(rng.random(units) < 0.5, common, rng.choice(3, units, p=PREVALENCE))
    given = np.where(rng.random((units, 5)) < HONEST, truth[:, None], rng.choice(3, (units, 5), p=PREVALENCE))
    rated = np.argsort(rng.random((units, 5)), axis=1)[:, :3]
    unit = np.repeat(np.arange(units, dtype=np.int32), 3)
    rater = rated.ravel().astype(np.int32)
    return Ratings(
        tuple("abcde"),
        tuple(f"{u:07}" for u in range(units)),
        ("x", "y", "z"),
        rater,
        unit,
        given[unit, rater].astype(np.int32),
        clusters=instance.astype(np.int32),
    )


def truth_of(statistic: str) -> float:
    """The statistic's value in a study without end."""
    if statistic == "precision":
        return 0.7
    table = study(np.random.default_rng(99), 300_000)
    return krippendorff_alpha(table).value if statistic == "alpha" else pairwise_kappa(table).mean().value


def coverage(statistic: str, *, studies: int, seed: int, replicates: int = 500) -> float:
    """Share of studies whose 95 % interval holds the truth."""
    truth = truth_of(statistic)
    covered = 0
    for rng in np.random.default_rng(seed).spawn(studies):
        if statistic == "precision":
            right, instance = precisions(rng)
            found = bootstrap_mean(right, clusters=instance, rng=rng, replicates=replicates)
        elif statistic == "alpha":
            table = study(rng)
            drawn = replicate_counts(table, rng=rng, replicates=replicates)
            found = add_interval(
                krippendorff_alpha(table), drawn.values["krippendorff_alpha"], clusters=drawn.clusters
            )
        else:
            table = study(rng)
            pairs = pairwise_kappa(table)
            kappas = replicate_kappas(table, pairs, groups=["all"], rng=rng, replicates=replicates)
            found = add_interval(pairs.mean(), kappas.mean["all"], clusters=kappas.clusters, reflect=True)
        covered += found.low <= truth <= found.high
    return covered / studies


def crowd(rng: np.random.Generator, honest: np.ndarray, units: int, per_unit: int) -> Ratings:
    """Many raters, each pair of whom shares few units."""
    rated = np.argsort(rng.random((units, honest.size)), axis=1)[:, :per_unit]
    truth = rng.choice(3, units, p=PREVALENCE)
    given = np.where(
        rng.random(rated.shape) < honest[rated], truth[:, None], rng.choice(3, rated.shape, p=PREVALENCE)
    )
    return Ratings(
        tuple(f"{r:02}" for r in range(honest.size)),
        tuple(f"{u:07}" for u in range(units)),
        ("x", "y", "z"),
        rated.ravel().astype(np.int32),
        np.repeat(np.arange(units, dtype=np.int32), per_unit),
        given.ravel().astype(np.int32),
    )


def coverage_in_a_crowd(*, studies: int, seed: int, reflect: bool, replicates: int = 300) -> float:
    """Coverage of mean kappa's interval, 40 raters, about 13 shared units a pair, with and without the reflection."""
    honest = np.random.default_rng(8).beta(8, 3, 40)
    truth = pairwise_kappa(crowd(np.random.default_rng(9), honest, 50_000, 20)).mean().value
    covered = 0
    for rng in np.random.default_rng(seed).spawn(studies):
        table = crowd(rng, honest, 1_000, 5)
        pairs = pairwise_kappa(table)
        drawn = replicate_kappas(table, pairs, groups=["all"], rng=rng, replicates=replicates)
        found = add_interval(pairs.mean(), drawn.mean["all"], clusters=drawn.clusters, reflect=reflect)
        covered += found.low <= truth <= found.high
    return covered / studies


def precisions(rng: np.random.Generator, mean: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Precision of four explanations of each of 100 instances, alike within an instance; and the instances."""
    level = rng.beta(4 * mean, 4 * (1 - mean), 100)
    return rng.binomial(10, np.repeat(level, 4)) / 10, np.repeat(np.arange(100), 4)


def rejections(test: str, *, studies: int, seed: int, level: float = 0.05) -> float:
    """Share of studies in which two systems that do not differ are told apart at this level."""
    rejected = 0
    for rng in np.random.default_rng(seed).spawn(studies):
        if test == "alternative annotator test":
            rejected += _boundary_p(rng) <= level
            continue
        (a, instance), (b, _) = precisions(rng), precisions(rng)
        if test == "permutation":
            p = paired_permutation_test(a, b, clusters=instance, rng=rng, permutations=999).p
        elif test == "bootstrap":
            p = paired_bootstrap(a, b, clusters=instance, rng=rng, replicates=999).p
        else:
            p = paired_t_test(a.reshape(-1, 4).mean(axis=1), b.reshape(-1, 4).mean(axis=1)).p
        rejected += p <= level
    return rejected / studies


def _boundary_p(rng: np.random.Generator) -> float:
    """p of one person where their advantage over the simulator is epsilon exactly: the edge of the null.

    Two people; j agrees with the other on a share .8 of 200 units, the simulator, independently, on .6. Both have the
    advantage where both or neither agree, so the difference of advantages is .8 - .6 = epsilon on average.
    """
    units = 200
    other = rng.integers(0, 2, units)
    matrix = np.stack([other, np.where(rng.random(units) < 0.8, other, 1 - other),
                       np.where(rng.random(units) < 0.6, other, 1 - other)])  # fmt: skip
    rows = [
        (name, f"{u:03}", str(matrix[r, u]))
        for r, name in enumerate(("other", "person", "robot"))
        for u in range(units)
    ]
    found = alternative_annotator_test(Ratings.from_rows(rows, simulators=["robot"]), "robot", epsilon=0.2)
    return next(human.p for human in found.humans if human.human == "person")
