"""Two hundred random tables for each metric, with missing data, against loops written down from the definitions."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import mean
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from evaluation.core.ratings_table import Ratings
from evaluation.metrics import (
    Bleu,
    FollowUps,
    Jaccard,
    UnitTable,
    generality,
    generalization_accuracy,
    mean_over_systems,
    normal_against_forced,
    parsing_quality,
    property_table,
    task_accuracy,
    unit_simulatability,
    utility,
)

TABLES = 200
WORDS = ("red", "Red", "cat", "the", "dog", "bird", "flies")


def near(found: Any, expected: float | None) -> None:
    """The estimate is the value, or is not defined and says why."""
    if expected is None:
        assert not found.defined
        assert found.reason
    else:
        assert found.value == pytest.approx(expected, abs=1e-12)


def or_none(values: list[float]) -> float | None:
    return mean(values) if values else None


def maybe(rng: np.random.Generator, labels: tuple[Any, ...], size: int, missing: float = 0.2) -> list[Any]:
    return [None if rng.random() < missing else labels[rng.integers(len(labels))] for _ in range(size)]


def test_utility():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 12))
        before, after, gold = (maybe(rng, ("a", "b", "c"), size) for _ in range(3))
        found = utility(before, after, gold, [f"x{i}" for i in rng.integers(0, 4, size)])
        rows = [row for row in zip(before, after, gold, strict=True) if None not in row]
        classes = Counter("not useful" if a != g else "useful" if b != g else "unsure" for b, a, g in rows)
        for name in ("useful", "not useful", "unsure"):
            assert found.counts[name] == classes[name]
            near(found.shares[name], classes[name] / len(rows) if rows else None)
        near(found.gain, or_none([float(a == g) - float(b == g) for b, a, g in rows]))
        assert sum(found.flows.values()) == len(rows)
        assert found.gain.n == len(rows)
        assert sum(found.gain.left_out.values()) == size - len(rows)


def test_accuracy_on_generalization_questions():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 25))
        before, after, gold = (maybe(rng, ("yes", "no"), size) for _ in range(3))
        kind = rng.choice(["rephrase", "counterfactual"], size).tolist()
        system = rng.choice(["s", "t"], size).tolist()
        label = maybe(rng, ("useful", "unsure"), size)
        cells = generalization_accuracy(
            before,
            after,
            gold,
            [f"x{i}" for i in rng.integers(0, 5, size)],
            kind,
            system,
            label,
            combine=["s", "t"],
        )
        # Each of the three figures has its own denominator: a label before, after, or both, and the right answer.
        was, now, moved = (defaultdict(list) for _ in range(3))
        seen = set()
        for b, a, g, k, s, u in zip(before, after, gold, kind, system, label, strict=True):
            for name in (s, "combined") if u is not None else ():
                key = (k, name, u)
                seen.add(key)
                if None not in (b, g):
                    was[key].append(float(b == g))
                if None not in (a, g):
                    now[key].append(float(a == g))
                if None not in (b, a, g):
                    moved[key].append(float(a == g) - float(b == g))
        assert {(c.kind, c.system, c.utility_class) for c in cells} == seen
        for cell in cells:
            key = (cell.kind, cell.system, cell.utility_class)
            near(cell.before, or_none(was[key]))
            near(cell.after, or_none(now[key]))
            near(cell.difference, or_none(moved[key]))


def test_atomic_units():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        rows = []
        for explanation in range(int(rng.integers(1, 4))):
            roles = rng.choice(["both", "input", "output"], int(rng.integers(1, 4))).tolist()
            for number in range(int(rng.integers(1, 4))):
                for unit, role in enumerate(roles):
                    here, there = maybe(rng, (True, True, False), 2, missing=0.1)
                    rows.append(
                        (f"u{unit}", f"c{explanation}-{number}", f"e{explanation}", role, here, there)
                    )
        unit, follow_up, explanation_of, role, here, there = (
            list(column) for column in zip(*rows, strict=True)
        )
        found = unit_simulatability(
            UnitTable(
                unit=unit, counterfactual=follow_up, explanation=explanation_of,
                instance=[name.replace("e", "x") for name in explanation_of], system=["s"] * len(rows),
                role=role, in_input=here, in_output=there,
            )
        )  # fmt: skip
        decided: list[float] = []
        precision: dict[str, list[float]] = defaultdict(list)
        shares = []
        for name in sorted(set(follow_up)):
            mine = [row for row in rows if row[1] == name]
            asked = [row[4] for row in mine if row[3] != "output"]
            reached = [float(row[5]) for row in mine if row[3] != "input" and row[5] is not None]
            if not asked or (None in asked and False not in asked):
                continue  # no input unit, or one without a label decides it
            known = [value for value in asked if value is not None]
            shares.append(mean(map(float, known)))
            decided.append(float(False not in asked))
            if decided[-1] and reached:
                precision[mine[0][2]].append(mean(reached))
        near(found.simulatable, or_none(decided))
        near(found.precision, or_none([mean(values) for values in precision.values()]))
        near(found.precision_micro, or_none([v for values in precision.values() for v in values]))
        assert found.buckets.total == len(shares)
        assert found.buckets.counts["1.00"] == sum(share == 1 for share in shares)


def words_of(text: str) -> set[str]:
    return {word for word in text.split() if word not in ENGLISH_STOP_WORDS}


def jaccard(a: str, b: str) -> float | None:
    one, two = words_of(a), words_of(b)
    return len(one & two) / len(one | two) if one or two else None


_BLEU = BLEU(effective_order=True)


def bleu(a: str, b: str) -> float:
    return float(_BLEU.sentence_score(a, [b]).score) / 100


@pytest.mark.parametrize(("similarity", "alpha"), [(Jaccard, jaccard), (Bleu, bleu)])
def test_generality(similarity, alpha):
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 9))
        explanation = [f"e{i}" for i in rng.integers(0, 3, size)]
        texts = [" ".join(rng.choice(WORDS, int(rng.integers(1, 5)))) for _ in range(size)]
        simulated = maybe(rng, ("yes", "no", "cannot guess"), size)
        table = FollowUps(
            unit=[f"u{i}" for i in range(size)], explanation=explanation, instance=explanation,
            system=["s"] * size, simulated=simulated, real=["yes"] * size, abstain={"cannot guess"}, text=texts,
        )  # fmt: skip
        values = []
        for name in sorted(set(explanation)):
            mine = [
                text
                for text, label, owner in zip(texts, simulated, explanation, strict=True)
                if owner == name and label not in (None, "cannot guess")
            ]
            pairs = [alpha(a, b) for i, a in enumerate(mine) for j, b in enumerate(mine) if i != j]
            known = [value for value in pairs if value is not None]
            if known:
                values.append(1 - mean(known))
        near(generality(table, similarity()).generality, or_none(values))


def test_prevalence_of_properties():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 6))
        given = {
            (rater, f"u{unit}"): label
            for rater in "abc"
            for unit, label in enumerate(maybe(rng, ("yes", "no"), size, missing=0.4))
            if label is not None
        }
        if not given:
            continue
        ratings = Ratings.from_rows([(rater, unit, label) for (rater, unit), label in given.items()])
        system = {unit: ("s", "t")[int(unit[1:]) % 2] for unit in ratings.units}
        rows = property_table({"leakage": ratings}, system, {unit: unit for unit in ratings.units})
        for row in rows:
            shares = [
                mean(float(label == "yes") for (_, u), label in given.items() if u == unit)
                for unit in ratings.units
                if row.system in ("all", system[unit])
            ]
            near(row.prevalence, or_none(shares))


def test_parsing_quality():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 9))
        missing, wrong = maybe(rng, (True, False), size), maybe(rng, (True, False), size)
        found = parsing_quality(missing, wrong, [f"x{i}" for i in range(size)])
        rows = [row for row in zip(missing, wrong, strict=True) if None not in row]
        near(found.accuracy, or_none([float(row == (False, False)) for row in rows]))
        assert (found.missing, found.incorrect, found.both) == (
            rows.count((True, False)), rows.count((False, True)), rows.count((True, True)),
        )  # fmt: skip


def test_task_accuracy_and_means_over_systems():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 12))
        output, gold = maybe(rng, ("yes", "no"), size), maybe(rng, ("yes", "no"), size)
        system = rng.choice(["s", "t"], size).tolist()
        instance = [f"x{i}" for i in range(size)]
        found = task_accuracy(output, gold, instance, system)
        by_system: dict[str, list[float]] = defaultdict(list)
        for o, g, s in zip(output, gold, system, strict=True):
            if o is not None and g is not None:
                by_system[s].append(float(o == g))
        for name, estimate in found.systems.items():
            near(estimate, or_none(by_system[name]))
        near(found.mean, or_none([mean(values) for values in by_system.values() if values]))
        values = np.where(rng.random(size) < 0.3, np.nan, rng.random(size))
        other = mean_over_systems(values, instance, system)
        means = [
            or_none([v for v, s in zip(values.tolist(), system, strict=True) if s == name and v == v])
            for name in sorted(set(system))
        ]
        near(other.mean, or_none([value for value in means if value is not None]))


def test_normal_against_forced():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        rows = [
            (f"{system}{x}{n}", f"{system}{x}", f"x{x}", system)
            for system in ("normal", "forced")
            for x in range(int(rng.integers(1, 5)))
            for n in range(int(rng.integers(1, 4)))
        ]
        simulated = maybe(rng, ("yes", "no", "cannot guess"), len(rows))
        real = rng.choice(["yes", "no"], len(rows)).tolist()
        unit, explanation, instance, system = (list(column) for column in zip(*rows, strict=True))
        table = FollowUps(
            unit=unit, explanation=explanation, instance=instance, system=system, simulated=simulated, real=real,
            abstain={"cannot guess"},
        )  # fmt: skip
        right = {f"x{x}" for x in range(4) if rng.random() < 0.7}
        hits: dict[tuple[str, str], list[float]] = defaultdict(list)
        for (_, _, x, s), label, answer in zip(rows, simulated, real, strict=True):
            if x in right and label not in (None, "cannot guess"):
                hits[s, x].append(float(label == answer))
        both = sorted(x for s, x in hits if s == "normal" and ("forced", x) in hits)
        expected = or_none([mean(hits["normal", x]) - mean(hits["forced", x]) for x in both])
        found = normal_against_forced(
            table, "normal", "forced", right, rng=np.random.default_rng(0), replicates=1
        )
        near(found.difference, expected)
        assert found.difference.n == len(both)
