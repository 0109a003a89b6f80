import sys

import krippendorff
import numpy as np
import pytest

from evaluation.agreement import krippendorff_alpha
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import bertscore, property_table

ROWS = [
    ("a", "u1", "yes"),
    ("b", "u1", "no"),
    ("a", "u2", "yes"),
    ("b", "u2", "yes"),
    ("a", "u3", "no"),
    ("b", "u3", "no"),
    ("c", "u3", "yes"),
]
SYSTEM = {"u1": "gpt", "u2": "gpt", "u3": "t5"}
INSTANCE = {"u1": "x", "u2": "y", "u3": "x"}


def test_by_hand():
    rows = property_table({"leakage": Ratings.from_rows(ROWS)}, SYSTEM, INSTANCE)
    table = {(row.property, row.system): row for row in rows}
    assert table["leakage", "gpt"].prevalence.value == 0.75  # 1/2 and 2/2
    assert table["leakage", "t5"].prevalence.value == pytest.approx(1 / 3)
    assert table["leakage", "all"].prevalence.value == pytest.approx((0.5 + 1 + 1 / 3) / 3)
    assert [row.system for row in rows] == ["gpt", "t5", "all"]


def test_alpha_is_that_of_the_krippendorff_package():
    rng = np.random.default_rng(0)
    matrix = (rng.random((5, 40)) < np.repeat(rng.random(40), 5).reshape(40, 5).T).astype(float)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    rows = [
        (f"r{i}", f"u{j:02d}", "yes" if matrix[i, j] else "no")
        for i in range(5)
        for j in range(40)
        if not np.isnan(matrix[i, j])
    ]
    units = [f"u{j:02d}" for j in range(40)]
    found = property_table(
        {"novelty": Ratings.from_rows(rows)}, dict.fromkeys(units, "s"), {u: u for u in units}, rng=rng
    )
    assert found[0].alpha.value == pytest.approx(
        krippendorff.alpha(matrix, level_of_measurement="nominal"), abs=1e-12
    )
    assert found[0].prevalence.low < found[0].prevalence.value < found[0].prevalence.high


def test_alpha_of_each_system_with_intervals():
    rng = np.random.default_rng(2)
    units = [f"u{i:03d}" for i in range(120)]
    system_of = {u: ("gpt", "t5")[i % 2] for i, u in enumerate(units)}
    instance_of = {u: f"x{i // 2}" for i, u in enumerate(units)}
    truth = {u: rng.choice(["yes", "no"]) for u in units}
    flip = {"yes": "no", "no": "yes"}
    rows = [
        (f"r{r}", u, truth[u] if rng.random() < (0.95 if system_of[u] == "gpt" else 0.7) else flip[truth[u]])
        for u in units
        for r in range(5)
    ]
    table = property_table({"p": Ratings.from_rows(rows)}, system_of, instance_of, rng=rng)
    found = {row.system: row.alpha for row in table}
    assert list(found) == ["gpt", "t5", "all"]
    assert found["gpt"].value > found["all"].value > found["t5"].value
    alone = Ratings.from_rows([row for row in rows if system_of[row[1]] == "gpt"])
    assert found["gpt"].value == pytest.approx(krippendorff_alpha(alone).value, abs=1e-12)
    assert found["gpt"].low < found["gpt"].value < found["gpt"].high
    assert "60 instances" in found["gpt"].interval
    with pytest.raises(ValueError, match="'all'"):
        property_table({"p": alone}, dict.fromkeys(units, "all"), instance_of)


def test_rater_names_and_row_order_change_nothing():
    other = [({"a": "z", "b": "y", "c": "x"}[r], u, v) for r, u, v in reversed(ROWS)]
    one, two = (property_table({"p": Ratings.from_rows(rows)}, SYSTEM, INSTANCE) for rows in (ROWS, other))
    for first, second in zip(one, two, strict=True):
        assert first.prevalence.value == pytest.approx(second.prevalence.value)
        assert first.alpha.to_dict() == second.alpha.to_dict()


def test_degenerate():
    always = property_table(
        {"p": Ratings.from_rows([("a", "u1", "yes"), ("b", "u1", "yes")])}, SYSTEM, INSTANCE
    )
    assert always[0].prevalence.value == 1.0
    assert always[0].alpha.reason == "all raters gave the same label"
    never = property_table({"p": Ratings.from_rows([("a", "u1", "no")])}, SYSTEM, INSTANCE)
    assert never[0].prevalence.value == 0.0
    empty = property_table({"p": Ratings.from_rows([])}, SYSTEM, INSTANCE)
    assert not empty[0].prevalence.defined
    with pytest.raises(ValueError, match="no entry for unit 'u1'"):
        property_table({"p": Ratings.from_rows(ROWS)}, {}, INSTANCE)


def test_bertscore_without_the_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(ImportError, match=r"foretell\[bertscore\]"):
        bertscore(["a"], ["b"])


def test_bertscore_scores_only_where_there_are_two_texts(monkeypatch):
    class Package:
        __version__ = "0.3"

        @staticmethod
        def score(candidates, references, **options):
            assert options["model_type"] == "roberta-large"
            lengths = np.array([len(c) / len(r) for c, r in zip(candidates, references, strict=True)])
            return lengths, lengths, lengths

    monkeypatch.setitem(sys.modules, "bert_score", Package)
    found = bertscore(["ab", " ", "a"], ["abcd", "x", "a"])
    assert found.f1.tolist()[::2] == [0.5, 1.0]
    assert np.isnan(found.f1[1])
    assert found.version == "bert-score 0.3, roberta-large"
