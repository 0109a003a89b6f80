"""Studies in which a hypothesis is true by its smallest effect, for the metrics other than precision.

Each function draws one study and returns a test: whether the hypothesis is found with the first so many instances and raters for each item.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from evaluation.core.interval import LEAST_CLUSTERS, t_quantile
from evaluation.metrics.gain import normalized_gain
from evaluation.planning.plan_document import Hypothesis
from evaluation.planning.plan_metrics import METRICS
from evaluation.planning.synthetic import StudyDesign, draw_arrays

Floats = npt.NDArray[np.float64]
#: Whether a hypothesis is found with (instances, raters for each item).
Test = Callable[[int, int], bool]
#: The least and the largest value that is drawn.
INSIDE = 0.01
#: The labels of studies of agreement, and how common each is.
_PREVALENCE = StudyDesign().prevalence


@dataclass(frozen=True)
class Assumed:
    """What a power calculation takes for granted: the value of the system that is compared with (its precision, or its share of the label;
    for gain and NSG, the accuracy without the explanation), a rater's mean probability of a careful reader's label, and the correlation
    within instances."""

    precision: float = 0.7
    accuracy: float = 0.85
    clustering: float = 0.1

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0 < value < 1:
                raise ValueError(f"{name}: got {value:g}; expected a number between 0 and 1")


@dataclass(frozen=True)
class Structure:
    """A study's own structure: its instances, follow-ups of each explanation, raters for each item, what a judgment costs and how many
    minutes it takes; ``systems`` is how many explain each instance, ``arms`` in how many arms each follow-up is judged."""

    instances: int
    follow_ups: int
    raters: int
    systems: int
    pay: float = 0.0
    minutes: float = 0.0
    arms: int = 1


@dataclass(frozen=True)
class Truth:
    """What is drawn: a hypothesis at a level alpha, in a study of at most so many instances and raters for each item."""

    one: Hypothesis
    structure: Structure
    assumed: Assumed
    alpha: float
    instances: int
    raters: int

    @property
    def effect(self) -> float:
        """The smallest effect of interest, with its sign."""
        return -self.one.smallest_effect if self.one.direction == "less" else self.one.smallest_effect

    def inside(self, value: float, what: str, low: float = INSIDE, high: float = 1 - INSIDE) -> float:
        """The value, if it can be drawn; raises ``ValueError`` with the hypothesis and what the value is."""
        if not low <= value <= high:
            raise ValueError(f"{self.one.name}: {what} is {value:g}; expected from {low:g} to {high:g}")
        return value


def significant(values: Floats, one: Hypothesis, alpha: float) -> bool:
    """Whether a two-sided t test finds the mean of the values that are not nan on the side that the hypothesis says."""
    known = values[~np.isnan(values)]
    if known.size < 2:
        return False
    error = float(known.std(ddof=1)) / math.sqrt(known.size)
    return beyond(float(known.mean()), error, known.size - 1, one, alpha)


def beyond(difference: float, error: float, degrees: int, one: Hypothesis, alpha: float) -> bool:
    """Whether a difference with its standard error is found on the hypothesis's side by a two-sided t test.

    >>> beyond(0.2, 0.05, 30, Hypothesis("H", "alpha", value=0.5), 0.05)
    True
    """
    from scipy.special import stdtr

    if not error > 0 or degrees < 1:
        return False
    t = difference / error
    side = {"greater": t > 0, "less": t < 0, "different": True}[one.direction]
    return side and 2 * float(stdtr(degrees, -abs(t))) <= alpha


def draw_shares(truth: Truth, rng: np.random.Generator) -> Test:
    """Shares of a label among ratings, or of items that most raters can simulate.

    Each explanation has its own share of such items, beta-distributed with the assumed correlation; a rater is right about an item with the
    assumed accuracy. A share of ratings is what raters give; a simulatable share that of the items.
    """
    one, assumed = truth.one, truth.assumed
    base = assumed.precision if one.against else float(one.value or 0.0)
    first = truth.inside(base + truth.effect, "the value with its smallest effect")
    targets = (first, base) if one.against else (first,)
    rated = one.metric == "share"
    shares = [_behind(truth, target) if rated else target for target in targets]
    shape = (truth.instances, len(shares), truth.structure.follow_ups)
    true = rng.random(shape) < _own(np.array(shares), shape[:2], assumed.clustering, rng)[:, :, None]
    given = true[..., None] == (rng.random((*shape, truth.raters)) < assumed.accuracy)

    def test(instances: int, k: int) -> bool:
        votes = given[:instances, :, :, :k].mean(axis=3)
        with np.errstate(invalid="ignore"):
            labels = votes if rated else np.where(votes == 0.5, np.nan, votes > 0.5)
            known = ~np.isnan(labels)
            values = np.where(known, labels, 0).sum(axis=2) / np.where(known.any(axis=2), known.sum(axis=2), np.nan)  # fmt: skip
        other = values[:, 1] if one.against else float(one.value or 0.0)
        return significant(values[:, 0] - other, one, truth.alpha)

    return test


def draw_gain(truth: Truth, rng: np.random.Generator) -> Test:
    """Predictions with and without the explanation, for the gain and NSG.

    A follow-up that is predicted wrongly without the explanation is repaired by it with one probability for all (for a negative gain, one
    that is predicted rightly is spoilt); single predictions follow that with the assumed accuracy. A system that is compared with adds nothing.
    """
    one, assumed = truth.one, truth.assumed
    without = assumed.precision
    value = (0.0 if one.against else float(one.value or 0.0)) + truth.effect
    gain = value * (1 - without) if one.metric == "nsg" else value
    q, p = (
        _behind(truth, truth.inside(share, "accuracy with the explanation"))
        for share in (without, without + gain)
    )
    shape = (truth.instances, 2 if one.against else 1, truth.structure.follow_ups)
    own = _own(np.full(shape[1], q), shape[:2], assumed.clustering, rng)
    before = rng.random(shape) < own[:, :, None]
    repaired = (p - q) / (1 - q) if p >= q else (q - p) / q
    changed = (rng.random(shape) < repaired) & (~before if p >= q else before)
    changed[:, 1:] = False
    after = before ^ changed
    size = (*shape, truth.raters)
    with_it, alone = (true[..., None] == (rng.random(size) < assumed.accuracy) for true in (after, before))

    def test(instances: int, k: int) -> bool:
        shown, hidden = with_it[:instances, :, :, :k].mean(axis=3), alone[:instances, :, :, :k].mean(axis=3)
        if one.metric == "nsg":
            return _nsg_found(shown[:, 0], hidden[:, 0], truth)
        values = (shown - hidden).mean(axis=2)
        other = values[:, 1] if one.against else float(one.value or 0.0)
        return significant(values[:, 0] - other, one, truth.alpha)

    return test


def _nsg_found(shown: Floats, hidden: Floats, truth: Truth) -> bool:
    clusters = np.repeat(np.arange(shown.shape[0]), shown.shape[1])
    found = normalized_gain(shown.ravel(), hidden.ravel(), clusters)
    if math.isnan(found.low):
        return False
    # Its interval is that of the logarithm of 1 - NSG.
    degrees = shown.shape[0] - 1
    error = (math.log(1 - found.low) - math.log(1 - found.high)) / (2 * t_quantile(degrees))
    difference = math.log(1 - float(truth.one.value or 0.0)) - math.log(1 - found.value)
    return beyond(difference, error, degrees, truth.one, truth.alpha)


def draw_spread(truth: Truth, rng: np.random.Generator) -> Test:
    """Numbers that are normal with the hypothesis's assumed standard deviation, for metrics whose spread nothing else describes.

    A rating is the system's mean, plus what all ratings of its instance share, plus what is its own: with standard deviation s and
    correlation r, an instance's mean of m ratings has the variance s² (r + (1 - r) / m). Systems share nothing, so the difference of two has
    twice that. m: follow-ups times raters; for accuracy, those of all systems, and of a simulator one rating of each item; generality has
    one value for each instance. Without a correlation of its own, the hypothesis has the assumed one within instances.
    """
    one, sd, shared = truth.one, truth.one.sd or 0.0, correlation_of(truth.one, truth.assumed)
    systems, most = 2 if one.against else 1, ratings_by_instance(truth, truth.raters)
    common = rng.standard_normal((truth.instances, systems, 1)) * math.sqrt(shared)
    own = rng.standard_normal((truth.instances, systems, most)) * math.sqrt(1 - shared)
    sums = np.cumsum(common + own, axis=2) * sd

    def test(instances: int, k: int) -> bool:
        ratings = ratings_by_instance(truth, k)
        means = sums[:instances, :, ratings - 1] / ratings
        values = means[:, 0] - means[:, 1] if one.against else means[:, 0]
        return significant(values + truth.effect, one, truth.alpha)

    return test


def correlation_of(one: Hypothesis, assumed: Assumed) -> float:
    """The assumed correlation of two ratings of one instance: the hypothesis's own, or that of the calculation; 0 where an instance has one
    value.

    >>> correlation_of(Hypothesis("H", "mean", value=3, sd=1.1), Assumed(clustering=0.2))
    0.2
    """
    if one.metric == "generality":
        return 0.0
    return assumed.clustering if one.correlation is None else one.correlation


def ratings_by_instance(truth: Truth, k: int) -> int:
    """How many ratings a system has on each instance with ``k`` raters for each item."""
    one, structure = truth.one, truth.structure
    if one.metric == "generality":
        return 1
    if METRICS[one.metric].whom == "raters":
        return structure.systems * structure.follow_ups * (k if one.of == "all" else 1)
    return structure.follow_ups * k


def draw_agreement(truth: Truth, rng: np.random.Generator) -> Test:
    """Agreement of people (alpha, and the mean of kappa, which is near it), or of people with a simulator (kappa of all their pairs of labels).

    Three labels, as common as in other simulated studies. Among people, raters are as accurate as the true value needs; with a simulator,
    raters have the assumed accuracy and the simulator the one that the value needs. The standard error is the jackknife's over instances.
    """
    one = truth.one
    target = truth.inside(float(one.value or 0.0) + truth.effect, "the value with its smallest effect")
    simulator = one.metric == "kappa" and one.of != "all"
    people = truth.assumed.accuracy if simulator else _accuracy_of(target, None, truth)
    design = StudyDesign(
        instances=truth.instances, precision=(0.7,) * truth.structure.systems, follow_ups=truth.structure.follow_ups,
        raters=max(20, truth.raters), redundancy=truth.raters, accuracy=people, accuracy_sd=0.0, clustering=truth.assumed.clustering,
    )  # fmt: skip
    drawn = draw_arrays(design, rng)
    counts = np.eye(len(_PREVALENCE))[drawn.value]
    machine = counts[:, 0]
    if simulator:
        right = rng.random(drawn.label.size) < _accuracy_of(target, people, truth)
        step = rng.integers(1, len(_PREVALENCE), size=drawn.label.size)
        machine = np.eye(len(_PREVALENCE))[
            np.where(right, drawn.label, (drawn.label + step) % len(_PREVALENCE))
        ]

    def test(instances: int, k: int) -> bool:
        items = instances * truth.structure.systems * truth.structure.follow_ups
        given = counts[:items, :k].sum(axis=1)
        if simulator:
            agreed = (given * machine[:items]).sum(axis=1)
            sums = np.column_stack([agreed, given, machine[:items] * k])
        else:
            if k < 2:
                return False
            agreed = (given * (given - 1)).sum(axis=1) / (k - 1)
            sums = np.column_stack([agreed, given, given])
        by_instance = sums.reshape(instances, -1, sums.shape[1]).sum(axis=1)
        total = by_instance.sum(axis=0)
        value, left = _chance_corrected(total[None])[0], _chance_corrected(total - by_instance)
        error = math.sqrt((instances - 1) / instances * float(((left - left.mean()) ** 2).sum()))
        if instances < LEAST_CLUSTERS or math.isnan(error):
            return False
        return beyond(float(value) - float(one.value or 0.0), error, instances - 1, one, truth.alpha)

    return test


def _chance_corrected(totals: Floats) -> Floats:
    """(agreed - expected) / (1 - expected) from rows of agreed ratings and two sides' counts of labels."""
    labels = (totals.shape[1] - 1) // 2
    first, second = totals[:, 1 : 1 + labels], totals[:, 1 + labels :]
    size = first.sum(axis=1)
    expected = (first * second).sum(axis=1) / (size * second.sum(axis=1))
    return np.asarray((totals[:, 0] / size - expected) / (1 - expected))


def _accuracy_of(target: float, people: float | None, truth: Truth) -> float:
    """The accuracy with which raters (with ``people``, a simulator and people of that accuracy) agree as much as ``target`` says."""
    labels, share = len(_PREVALENCE), np.array(_PREVALENCE)

    def agreement(accuracy: float) -> float:
        other = accuracy if people is None else people
        sides = [a * share + (1 - a) * (1 - share) / (labels - 1) for a in (accuracy, other)]
        observed = accuracy * other + (1 - accuracy) * (1 - other) / (labels - 1)
        expected = float((sides[0] * sides[1]).sum())
        return (observed - expected) / (1 - expected)

    low, high = 1 / labels, 1.0
    if agreement(high) < target:
        raise ValueError(
            f"{truth.one.name}: with raters who are right in {people or 1:.0%}, {truth.one.metric} is at most {agreement(high):.2f}; expected a "
            f"value with its smallest effect below that, got {target:g}"
        )
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if agreement(middle) < target else (low, middle)
    return high


def _behind(truth: Truth, share: float) -> float:
    """The share of items behind a share of ratings that raters of the assumed accuracy give."""
    accuracy = truth.assumed.accuracy
    if accuracy <= 0.5:
        raise ValueError(f"accuracy: got {accuracy:g}; expected more than 0.5 for {truth.one.metric}")
    found = (share - (1 - accuracy)) / (2 * accuracy - 1)
    what = f"raters who are right in {accuracy:.0%} can’t give a share of {share:g}: the share of items behind it"
    return truth.inside(found, what, 0.0, 1.0)


def _own(
    shares: Floats, shape: tuple[int, ...], clustering: float, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Shape (instances, systems): each explanation's own share, beta-distributed around its system's."""
    strength = (1 - clustering) / clustering
    mean = np.clip(np.broadcast_to(shares, shape), 1e-9, 1 - 1e-9)
    return np.asarray(rng.beta(mean * strength, (1 - mean) * strength))
