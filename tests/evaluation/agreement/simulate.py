"""Simulated studies with known truth: how often intervals cover it, and how often tests reject a true null hypothesis."""

from __future__ import annotations

from dataclasses import dataclass

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
from evaluation.agreement.count_agreement import count_agreement
from evaluation.agreement.intervals import alpha_estimate
from evaluation.agreement.kappa_agreement import kappa_agreement
from evaluation.agreement.kappa_jackknife import jackknife_kappas
from evaluation.core.estimate import Estimate

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
    """The statistic's value in an infinite study."""
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
            found = alpha_estimate(study(rng), rng=rng, replicates=replicates)
        else:
            found = mean_kappa(study(rng))
        covered += found.low <= truth <= found.high
    return covered / studies


def mean_kappa(table: Ratings) -> Estimate:
    """The mean kappa over pairs without the bias of few shared units, with its interval, as a report has it."""
    pairs = pairwise_kappa(table)
    found = jackknife_kappas(table, pairs)
    weight = np.full(found.kept.size, 1 / max(found.kept.size, 1))
    return found.add_interval(pairs.mean(), weight)[1]


@dataclass(frozen=True)
class KappaDesign:
    """``clusters`` explanations of ``per_cluster`` follow-ups, ``k`` of the raters a follow-up or a whole explanation."""

    clusters: int
    per_cluster: int
    raters: int
    k: int
    prevalence: tuple[float, ...]
    #: How alike the true labels of one cluster are.
    clustering: float = 0.2
    whole: bool = False
    missing: float = 0.0
    #: Of the worst and the best rater: how probable a right label is.
    skill: tuple[float, float] = (0.6, 0.95)

    @property
    def accuracy(self) -> np.ndarray:
        return np.linspace(*self.skill, self.raters)

    def draw(self, rng: np.random.Generator) -> Ratings:
        shares, labels = np.array(self.prevalence), len(self.prevalence)
        units = self.clusters * self.per_cluster
        if self.clustering:
            strength = (1 - self.clustering) / self.clustering
            shares = rng.dirichlet(shares * strength, self.clusters).repeat(self.per_cluster, axis=0)
        truth = (
            rng.random((units, 1)) > np.cumsum(np.broadcast_to(shares, (units, labels)), axis=1)[:, :-1]
        ).sum(axis=1)
        drawn = np.argsort(rng.random((self.clusters if self.whole else units, self.raters)), axis=1)[
            :, : self.k
        ]
        rated = drawn.repeat(self.per_cluster, axis=0) if self.whole else drawn
        wrong = (truth[:, None] + rng.integers(1, labels, rated.shape)) % labels
        given = np.where(rng.random(rated.shape) < self.accuracy[rated], truth[:, None], wrong)
        kept = rng.random(rated.shape) >= self.missing
        return Ratings(
            tuple(f"r{r:03}" for r in range(self.raters)),
            tuple(f"{u:07}" for u in range(units)),
            tuple(map(str, range(labels))),
            rated[kept].astype(np.int32),
            np.arange(units, dtype=np.int32).repeat(self.k).reshape(rated.shape)[kept],
            given[kept].astype(np.int32),
            clusters=np.arange(self.clusters, dtype=np.int32).repeat(self.per_cluster),
        )

    def kappas(self) -> np.ndarray:
        """Kappa of each two raters in an infinite study, from their tables of label probabilities."""
        labels, shares = len(self.prevalence), np.array(self.prevalence)
        given = np.array([
            np.where(np.eye(labels, dtype=bool), a, (1 - a) / (labels - 1)) for a in self.accuracy
        ])  # fmt: skip
        joint = np.einsum("t,ati,btj->abij", shares, given, given)
        agreed = np.einsum("abii->ab", joint)
        chance = (joint.sum(axis=3) * joint.sum(axis=2)).sum(axis=2)
        return (agreed - chance) / (1 - chance)


EVEN, SKEWED, THREE = (0.5, 0.5), (0.85, 0.15), (0.5, 0.3, 0.2)
RARE, TEN, GOOD = (0.97, 0.03), (0.1,) * 10, (0.95, 0.99)
KAPPA_DESIGNS = {
    "few": KappaDesign(20, 10, 5, 3, EVEN),
    "skewed": KappaDesign(50, 10, 5, 3, SKEWED),
    "missing": KappaDesign(50, 10, 5, 3, SKEWED, missing=0.2),
    "explanations": KappaDesign(60, 10, 5, 3, THREE, whole=True),
    "explanations, skewed": KappaDesign(60, 10, 5, 3, SKEWED, whole=True),
    "explanations, ten raters": KappaDesign(120, 10, 10, 3, THREE, whole=True),
    "explanations, twenty raters": KappaDesign(600, 10, 20, 3, THREE, whole=True),
    "explanations, forty raters": KappaDesign(200, 10, 40, 3, THREE, whole=True),
    "crowd": KappaDesign(1_000, 1, 40, 5, THREE, clustering=0.0),
    "crowd, skewed": KappaDesign(1_000, 1, 40, 5, SKEWED, clustering=0.0),
    "crowd, follow-ups": KappaDesign(200, 10, 40, 3, THREE),
    "8 units": KappaDesign(8, 1, 4, 4, EVEN, clustering=0.0),
    "12 units": KappaDesign(12, 1, 4, 4, EVEN, clustering=0.0),
    "20 units, two raters": KappaDesign(20, 1, 2, 2, EVEN, clustering=0.0),
    "30 units, skewed": KappaDesign(30, 1, 3, 3, SKEWED, clustering=0.0),
    "50 units, rare label": KappaDesign(50, 1, 3, 3, RARE, clustering=0.0, skill=GOOD),
    "100 units, rare label": KappaDesign(100, 1, 3, 3, RARE, clustering=0.0, skill=GOOD),
    "1,000 units, rare label": KappaDesign(1_000, 1, 3, 3, RARE, clustering=0.0, skill=GOOD),
    "follow-ups, rare label": KappaDesign(100, 10, 5, 3, RARE),
    "ten labels": KappaDesign(40, 5, 6, 3, TEN),
    "15 units, skewed": KappaDesign(15, 1, 3, 3, (0.8, 0.2), clustering=0.0, skill=(0.8, 0.97)),
    "20 units, ten raters": KappaDesign(20, 1, 10, 10, (0.9, 0.1), clustering=0.0, skill=(0.8, 0.95)),
    "30 units, rare label": KappaDesign(30, 1, 3, 3, (0.95, 0.05), clustering=0.0, skill=(0.95, 0.97)),
    "40 units, poor raters": KappaDesign(40, 1, 3, 3, (0.95, 0.05), clustering=0.0, skill=(0.7, 0.9)),
    "40 units, ten raters": KappaDesign(40, 1, 10, 10, (0.95, 0.05), clustering=0.0, skill=(0.9, 0.97)),
    "80 units, ten raters": KappaDesign(80, 1, 10, 10, (0.95, 0.05), clustering=0.0, skill=(0.9, 0.97)),
    "30 units, eight raters": KappaDesign(30, 1, 8, 8, (0.9, 0.1), clustering=0.0, skill=(0.85, 0.95)),
    "50 units, five raters": KappaDesign(50, 1, 5, 5, (0.95, 0.05), clustering=0.0, skill=(0.9, 0.97)),
    "60 units, two raters": KappaDesign(60, 1, 2, 2, (0.93, 0.07), clustering=0.0, skill=(0.93, 0.97)),
    "100 units, poor raters": KappaDesign(100, 1, 3, 3, (0.9, 0.1), clustering=0.0, skill=(0.6, 0.9)),
    "200 units, rarer label": KappaDesign(200, 1, 3, 3, (0.995, 0.005), clustering=0.0, skill=(0.975, 0.99)),
    "500 units, rarest label": KappaDesign(500, 1, 3, 3, (0.997, 0.003), clustering=0.0, skill=(0.98, 0.99)),
}


def coverage_of_mean_kappa(design: str, *, studies: int, seed: int) -> float:
    """Share of the studies with an interval of mean kappa in which it holds the truth; nan where none has one."""
    chosen = KAPPA_DESIGNS[design]
    true = chosen.kappas()
    hits = []
    for rng in np.random.default_rng(seed).spawn(studies):
        table = chosen.draw(rng)
        found = mean_kappa(table)
        if not np.isnan(found.low):
            pairs = pairwise_kappa(table)
            truth = true[pairs.sums.a, pairs.sums.b][pairs.averaged].mean()
            hits.append(found.low <= truth <= found.high)
    return float(np.mean(hits)) if hits else float("nan")


@dataclass(frozen=True)
class Panel:
    """A study of ``raters`` drawn from a population whose share of right labels is Beta(12, 4); two labels, even."""

    raters: int = 12
    units: int = 200
    k: int = 4

    def draw(self, rng: np.random.Generator) -> Ratings:
        accuracy = rng.beta(12, 4, self.raters)
        truth = rng.integers(0, 2, self.units)
        rated = np.argsort(rng.random((self.units, self.raters)), axis=1)[:, : self.k]
        given = np.where(rng.random(rated.shape) < accuracy[rated], truth[:, None], 1 - truth[:, None])
        return Ratings(
            tuple(f"r{r:02}" for r in range(self.raters)), tuple(f"u{u:05}" for u in range(self.units)), ("0", "1"),
            rated.ravel().astype(np.int32), np.arange(self.units, dtype=np.int32).repeat(self.k),
            given.ravel().astype(np.int32),
        )  # fmt: skip

    @property
    def truth(self) -> float:
        """Alpha and mean kappa over all raters alike: labels are even, so both are ``(2 a - 1)^2`` with the mean a."""
        return (2 * 12 / 16 - 1) ** 2


PANELS = {
    "all on each": Panel(6, 100, 6),
    "some on each": Panel(12, 200, 4),
    "many units": Panel(8, 1_000, 8),
    "forty raters": Panel(40, 500, 5),
}


def panel_estimates(
    panel: Panel, statistic: str, *, new_raters: bool, studies: int, seed: int
) -> list[Estimate]:
    """The statistic with its interval in each study, each with raters of its own."""
    found = []
    for rng in np.random.default_rng(seed).spawn(studies):
        table = panel.draw(rng)
        if statistic == "mean kappa":
            pairs = kappa_agreement(table, "nominal", 10, (), intervals=True, new_raters=new_raters)
            found.append(pairs.mean["all"])
        else:
            found.append(getattr(count_agreement(table, rng, 100, new_raters=new_raters), statistic))
    return found


def coverage_for_new_raters(
    panel: Panel, statistic: str, *, new_raters: bool, studies: int, seed: int
) -> float:
    """Share of studies whose interval holds what the population of raters shows."""
    found = panel_estimates(panel, statistic, new_raters=new_raters, studies=studies, seed=seed)
    return sum(one.low <= panel.truth <= one.high for one in found) / studies


def precisions(rng: np.random.Generator, mean: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Precision of four explanations of each of 100 instances, alike within an instance; and the instances."""
    level = rng.beta(4 * mean, 4 * (1 - mean), 100)
    return rng.binomial(10, np.repeat(level, 4)) / 10, np.repeat(np.arange(100), 4)


def rejections(test: str, *, studies: int, seed: int, level: float = 0.05) -> float:
    """Share of studies in which two systems that do not differ are distinguished at this level."""
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
