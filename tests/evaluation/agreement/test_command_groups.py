"""What the command says beside agreement: means, groups, filters, accuracy, soft labels, tables of counts."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from scipy.stats import entropy

from evaluation.agreement import Ratings, aggregate, krippendorff_alpha, output, summarize
from evaluation.agreement.accuracy import accuracy
from evaluation.agreement.by_group import by_group, grouped_values
from evaluation.agreement.descriptive import mean_label, median_label, unit_distributions
from evaluation.agreement.gwet import add_ac2_interval, gwet_ac2
from evaluation.agreement.output import as_json

ROWS = """r,q,sys,v,kind,age,right
ann,q1,a,1,easy,30,1
bob,q1,a,2,easy,41,1
ann,q1,b,3,hard,30,3
bob,q1,b,3,hard,41,3
ann,q2,a,2,easy,30,
bob,q2,a,,easy,41,
ann,q2,b,1,hard,30,2
bob,q2,b,2,hard,41,2
"""


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "r.csv"
    found.write_text(ROWS)
    return found


def run(path, *options, rater=("--rater", "r", "--value", "v"), level="interval", form="json"):
    out = io.StringIO()
    call_command("agreement", str(path), *rater, "--unit", "q", "sys", "--level", level, "--format", form,
                 "--min-overlap", "1", *options, stdout=out, stderr=io.StringIO())  # fmt: skip
    return json.loads(out.getvalue()) if form == "json" else out.getvalue()


def test_several_columns_name_a_unit(path):
    found = run(path)
    assert (found["units"], found["ratings"]) == (4, 7)
    assert found["mean"]["value"] == pytest.approx((1 + 2 + 3 + 3 + 2 + 1 + 2) / 7)
    assert found["median"]["value"] == 2.0
    again = run(path, "--unit", "kind")
    assert (again["units"], again["ratings"]) == (4, 7), "given again, the option adds a column"
    path.write_text(ROWS + "ann,q1 · a,b,1,easy,30,\nann,q1,a · b,1,easy,30,\n")
    with pytest.raises(CommandError, match="two units are called the same"):
        run(path)


def test_groups_by_columns_of_units_and_raters(path):
    frame = pd.read_csv(path)
    found = run(path, "--by", "kind", "age", "--bootstrap", "100")["groups"]
    for column, groups in found.items():
        for name, group in groups.items():
            part = frame[frame[column].astype(str) == name].dropna(subset=["v"])
            assert group["ratings"] == len(part)
            assert group["mean"]["value"] == pytest.approx(part["v"].mean())
            assert group["median"]["value"] == pytest.approx(part["v"].median())
            assert group["raters"] == part["r"].nunique()
    # easy: one unit has two ratings, and they differ; hard: of two units one agrees
    assert found["kind"]["easy"]["percent_agreement"]["value"] == 0.0
    assert found["kind"]["hard"]["percent_agreement"]["value"] == 0.5
    text = run(path, "--by", "kind", form="text")
    assert "kind  ratings  units  raters" in text
    assert "group:mean,kind,easy" in run(path, "--by", "kind", form="csv")


def test_filters_leave_only_what_was_asked_for(path):
    found = run(path, "--only", "kind=hard")
    assert (found["units"], found["ratings"], found["raters"]) == (2, 4, 2)
    both = run(path, "--only", "age=30", "age=41", "kind=hard")
    assert both["krippendorff_alpha"] == found["krippendorff_alpha"]
    assert run(path, "--only", "age=30")["raters"] == 1
    with pytest.raises(CommandError, match="no row has 'soft' in 'kind'; there are 'easy', 'hard'"):
        run(path, "--only", "kind=soft")
    with pytest.raises(CommandError, match="expected COL=VALUE"):
        run(path, "--only", "kind")


def test_accuracy_against_gold_and_missing_as_wrong(path):
    found = run(path, "--gold", "right", "--by", "kind", "--aggregate", "median")
    # ann: 1, 3 right, 1 for 2 wrong; bob: 2 for 1 wrong, 3 right, 2 right; q2 a has no gold
    assert found["accuracy"]["ratings"]["value"] == pytest.approx(4 / 6)
    assert found["accuracy"]["ratings"]["left_out"] == {"without a correct label": 1}
    assert found["accuracy"]["raters"]["ann"]["value"] == pytest.approx(2 / 3)
    # medians: q1 a 1.5, q1 b 3, q2 b 1.5
    assert found["accuracy"]["labels"]["value"] == pytest.approx(1 / 3)
    assert found["groups"]["kind"]["hard"]["accuracy"]["value"] == pytest.approx(3 / 4)
    path.write_text(ROWS.replace("bob,q1,b,3,", "bob,q1,b,,"))
    assert run(path, "--gold", "right")["accuracy"]["ratings"]["n"] == 5
    missing = run(path, "--gold", "right", "--blanks", "wrong", "--ties", "wrong", "--by", "kind")
    assert (missing["accuracy"]["ratings"]["value"], missing["accuracy"]["ratings"]["n"]) == (0.5, 6)
    assert missing["groups"]["kind"]["hard"]["accuracy"]["n"] == 4
    # majority: q1 a ties (wrong), q1 b 3 (right), q2 b ties (wrong)
    assert missing["accuracy"]["labels"]["value"] == pytest.approx(1 / 3)
    assert (missing["blanks"], missing["ties"]) == ("wrong", "wrong")
    for option in ("blanks", "ties"):
        with pytest.raises(CommandError, match=f"--{option} wrong needs --gold"):
            run(path, f"--{option}", "wrong")
    with pytest.raises(CommandError, match=r"--missing-wrong is now --blanks wrong .* and --ties wrong"):
        run(path, "--gold", "right", "--missing-wrong")
    path.write_text(ROWS + "cleo,q1,a,1,easy,30,2\n")
    with pytest.raises(CommandError, match="'q1 · a' has '1' in an earlier line"):
        run(path, "--gold", "right")


def test_blanks_and_ties_count_as_wrong_separately(path):
    """Gold: q1 a 1 (1 and 2 tie), q1 b 3 (3, 3), q2 b 2 (both blank). ``n`` is the number of units with a label."""
    path.write_text(ROWS.replace("ann,q2,b,1,", "ann,q2,b,,").replace("bob,q2,b,2,", "bob,q2,b,,"))

    def labels(*options):
        found = run(path, "--gold", "right", "--aggregate", "majority", *options)["accuracy"]["labels"]
        return found["value"], found["n"], found["left_out"].get("without a label")

    assert labels() == (1.0, 1, 1)
    assert labels("--blanks", "wrong") == (0.5, 2, 1)
    assert labels("--ties", "wrong") == (0.5, 2, None)
    assert labels("--blanks", "wrong", "--ties", "wrong") == (pytest.approx(1 / 3), 3, None)


def test_a_group_that_left_everything_blank_is_wrong(path):
    path.write_text(ROWS + "cleo,q1,a,,easy,55,1\n")
    assert "55" not in run(path, "--gold", "right", "--by", "age")["groups"]["age"]
    group = run(path, "--gold", "right", "--by", "age", "--blanks", "wrong")["groups"]["age"]["55"]
    assert (group["ratings"], group["accuracy"]["value"], group["accuracy"]["n"]) == (0, 0.0, 1)
    assert group["percent_agreement"]["value"] is None


def test_one_raters_labels_cannot_tie(path):
    """Bob has 2 for q1 a (gold 1) and 3 for q1 b (gold 3), and left q2 b blank."""
    path.write_text(ROWS.replace("bob,q2,b,2,", "bob,q2,b,,"))
    for options, expected in [
        ((), (0.5, 2)),
        (("--ties", "wrong"), (0.5, 2)),
        (("--blanks", "wrong"), (pytest.approx(1 / 3), 3)),
    ]:
        found = run(path, "--gold", "right", "--aggregate", "single:bob", *options)["accuracy"]["labels"]
        assert (found["value"], found["n"]) == expected


def test_labels_left_out_leave_gold_where_it_was(path):
    found = run(path, "--gold", "right", "--without-label", "1", level="nominal")
    # left: bob 2 for q1 a, whose gold is no longer a label; 3, 3 and bob's 2 right
    assert found["accuracy"]["ratings"]["value"] == 1.0
    assert found["accuracy"]["ratings"]["n"] == 3


def test_soft_labels_and_entropy(path, tmp_path):
    run(path, "--units", str(tmp_path / "u.csv"))
    frame = pd.read_csv(tmp_path / "u.csv", index_col="unit")
    assert frame.loc["q1 · a", ["1", "2", "3"]].tolist() == [0.5, 0.5, 0]
    assert frame.loc["q1 · a", "entropy"] == 1.0
    assert frame.loc["q1 · b", "entropy"] == 0.0
    assert frame.loc["q1 · a", "mean"] == 1.5


def test_a_table_of_counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("q,sys,low,high\nq1,a,3,1\nq1,b,0,4\nq2,a,2,2\nq2,b,,0\n")
    found = run(path, rater=("--counts", "low", "high"), level="ordinal")
    rows = [(f"r{n}", unit, label) for unit, given in (("1", "lllh"), ("2", "hhhh"), ("3", "llhh")) for n, label in enumerate(given)]  # fmt: skip
    expected = Ratings.from_rows(rows, labels=["l", "h"], level="ordinal")
    assert found["krippendorff_alpha"]["value"] == pytest.approx(krippendorff_alpha(expected).value)
    assert found["ratings"] == 12
    assert "cohen_kappa" not in found
    assert "rater_agreement" not in found
    text = run(path, rater=("--counts", "low", "high"), form="text", level="ordinal")
    assert "kappa, mean of pairs" not in text
    assert "12 ratings of 4 units, ordinal labels" in text
    # Which labels are one rater's isn't known: only the correlation that doesn't ask for it is defined.
    assert "ICC(1,1)" in text
    assert not any(form in text for form in ("ICC(2,1)", "ICC(3,1)", "ICC(2,k)", "ICC(3,k)"))
    assert not any(name.startswith(("icc_2", "icc_3")) for name in found)
    run(path, rater=("--counts", "low", "high"), form="csv", level="ordinal")
    for content, message in (
        ("q,sys,low,high\nq1,a,x,1\n", ":2: low: 'x': expected how many ratings"),
        ("q,sys,low,high\nq1,a,1.5,1\n", "expected how many ratings"),
        ("q,sys,low,high\nq1,a,1,1\nq1,a,1,1\n", "'q1 · a' is listed twice"),
    ):
        path.write_text(content)
        with pytest.raises(CommandError, match=message):
            run(path, rater=("--counts", "low", "high"), level="ordinal")
    with pytest.raises(CommandError, match="--counts takes no --rater"):
        run(path, rater=("--counts", "low", "high", "--rater", "r"))
    with pytest.raises(CommandError, match="--value is missing"):
        run(path, rater=("--rater", "r"))


def test_a_table_of_counts_with_correct_labels(tmp_path):
    """9 of 14 ratings are right: 3 of 4, 4 of 4, 2 of 4 and none of 2 that are scored; the last unit has no correct label."""
    path = tmp_path / "counts.csv"
    path.write_text("q,sys,low,high,right\n1,a,3,1,low\n2,a,0,4,high\n3,a,2,2,high\n4,a,2,0,high\n5,a,1,1,\n")
    options = ("--counts", "low", "high")
    found = run(path, "--gold", "right", rater=options, level="nominal")["accuracy"]
    assert (found["ratings"]["value"], found["ratings"]["n"]) == (pytest.approx(9 / 14), 14)
    assert (found["labels"]["value"], found["labels"]["n"]) == (pytest.approx(2 / 3), 3)
    assert found["raters"] == {}
    path.write_text("q,sys,low,high,right\n1,a,3,1,middle\n")
    with pytest.raises(
        CommandError, match=":2: right: 'middle': expected one of the columns with counts: low, high"
    ):
        run(path, "--gold", "right", rater=options, level="nominal")


def test_numbers_with_a_decimal_comma(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("who;item;says\na;u;2,5\nb;u;1.000\na;v;3\nb;v;3,0\n".replace(";", "\t"))
    path = path.rename(tmp_path / "numbers.tsv")
    columns = (
        "--rater",
        "who",
        "--unit",
        "item",
        "--value",
        "says",
        "--level",
        "interval",
        "--format",
        "json",
    )
    said = io.StringIO()
    call_command("agreement", str(path), *columns, "--decimal-comma", stdout=said)
    assert json.loads(said.getvalue())["mean"]["value"] == pytest.approx((2.5 + 1000 + 3 + 3) / 4)
    with pytest.raises(CommandError, match="--decimal-comma reads a comma as one"):
        call_command("agreement", str(path), *columns)


@pytest.mark.parametrize("label", ["007", "+1", "1e0"])
def test_spellings_of_numbers_are_labels_of_their_own(tmp_path, label):
    path = tmp_path / "labels.csv"
    path.write_text(f"who,item,says\na,u,{label}\nb,u,{float(label):.0f}\na,v,2.0\nb,v,2\n")
    said, notes = io.StringIO(), io.StringIO()
    arguments = ("--rater", "who", "--unit", "item", "--value", "says", "--format", "json")
    call_command("agreement", str(path), *arguments, stdout=said, stderr=notes)
    assert set(json.loads(said.getvalue())["labels"]) == {label, f"{float(label):.0f}", "2"}
    assert "are one number; --recode" in notes.getvalue()


@pytest.mark.parametrize("count", ["1e30", "100001", "1.5", "-1", "x", "nan"])
def test_impossible_counts_are_refused(count, tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text(f"sys,q,low,high\ns,1,2,1\ns,2,{count},3\n")
    with pytest.raises(CommandError) as caught:
        run(path, rater=("--counts", "low", "high"))
    assert str(caught.value) == (
        f"{path}:3: low: {count!r}: expected how many ratings, a whole number from 0 to 100,000"
    )


def test_numbers_are_cut_at_quartiles_and_too_many_texts_refused():
    names, codes = grouped_values([str(n) for n in range(100)], np.arange(100, dtype=np.int32))
    assert len(names) == 4
    assert np.bincount(codes).tolist() == [25, 25, 25, 25]
    with pytest.raises(ValueError, match="expected at most 50"):
        grouped_values([f"n{n}" for n in range(100)], np.arange(100, dtype=np.int32))


def table(seed=0, raters=4, units=60, labels=5, level="interval"):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, labels + 1, units)
    rows = [
        (f"r{r}", f"u{u}", str(int(np.clip(truth[u] + rng.integers(-1, 2), 1, labels))))
        for r in range(raters)
        for u in range(units)
        if rng.random() < 0.8
    ]
    return Ratings.from_rows(rows, labels=[str(k) for k in range(1, labels + 1)], level=level)


def test_means_medians_and_entropy_against_numpy_and_scipy():
    for seed in range(20):
        ratings = table(seed)
        values = ratings.numbers[ratings.value]
        assert mean_label(ratings).value == pytest.approx(values.mean())
        assert median_label(ratings).value == pytest.approx(np.median(values))
        found = unit_distributions(ratings)
        for row, unit in zip(found.rows(), found.unit, strict=True):
            counts = np.bincount(ratings.value[ratings.unit == unit])
            assert row["entropy"] == pytest.approx(entropy(counts, base=2), abs=1e-12)
            assert row["mean"] == pytest.approx(values[ratings.unit == unit].mean())


def test_many_labels_have_medians_too():
    rng = np.random.default_rng(5)
    rows = [(f"r{r}", f"u{u}", f"{rng.normal():.6f}") for r in range(3) for u in range(50)]
    ratings = Ratings.from_rows(rows, level="interval")
    found = median_label(ratings, rng=np.random.default_rng(0), replicates=100)
    assert found.value == pytest.approx(np.median(ratings.numbers[ratings.value]))
    assert found.low < found.value < found.high


def test_median_and_mean_as_rules():
    rows = [("a", "u", "1"), ("b", "u", "2"), ("c", "u", "4"), ("a", "v", "1"), ("b", "v", "4")]
    labels = ["1", "2", "4"]
    interval = Ratings.from_rows(rows, labels=labels, level="interval")
    assert aggregate(interval, "median").by_unit() == {"u": "2", "v": "2.5"}
    assert aggregate(interval, "mean").by_unit() == {"u": "2.3333333333333335", "v": "2.5"}
    ordinal = Ratings.from_rows(rows, labels=labels, level="ordinal")
    found = aggregate(ordinal, "median")
    assert found.by_unit() == {"u": "2", "v": None}
    assert found.left_out == {"units whose median lies between two labels": 1}
    with pytest.raises(ValueError, match="a number is needed"):
        aggregate(Ratings.from_rows([("a", "u", "yes")]), "median")


def test_every_interval_holds_its_estimate_and_zero_replicates_have_none():
    for seed in range(10):
        ratings = table(seed, units=50)
        rng = np.random.default_rng(seed)
        for weights in ("linear", "quadratic"):
            found = add_ac2_interval(
                gwet_ac2(ratings, weights=weights), ratings, weights=weights, rng=rng, replicates=100
            )
            assert found.low <= found.value <= found.high <= 1
        for found in (f(ratings, rng=rng, replicates=100) for f in (mean_label, median_label)):
            assert found.low <= found.value <= found.high
        assert np.isnan(median_label(ratings, rng=rng, replicates=0).low)


@pytest.mark.parametrize("statistic", ["mean", "median", "ac2"])
def test_coverage(statistic):
    """150 studies of a population: intervals over units hold what all units would show in 95 % of them."""
    whole = table(99, units=40_000)
    estimate = {"mean": mean_label, "median": median_label, "ac2": gwet_ac2}[statistic]
    truth, covered = estimate(whole).value, 0
    for seed in range(150):
        ratings, rng = table(1_000 + seed), np.random.default_rng(seed)
        if statistic == "ac2":
            found = add_ac2_interval(gwet_ac2(ratings), ratings, weights="quadratic", rng=rng, replicates=200)
        else:
            found = estimate(ratings, rng=rng, replicates=200)
        covered += found.low <= truth <= found.high
    assert covered >= 134


def test_groups_of_nobody_and_of_the_wrong_length():
    ratings = table()
    with pytest.raises(ValueError, match="codes: expected shape"):
        by_group(ratings, ["a"], np.zeros(1, dtype=np.int32))
    (only,) = by_group(ratings, ["a"], np.full(len(ratings), -1, dtype=np.int32))
    assert only.name == "(blank)"
    with pytest.raises(ValueError, match="gold: expected shape"):
        accuracy(ratings, np.zeros(1, dtype=np.int32))


def test_many_pairs_are_written_piece_by_piece(monkeypatch):
    """The pieces are the JSON of the whole, whatever their size; with two kinds of weights and more."""
    ratings = table(3, raters=8, units=30, level="ordinal")
    summary = summarize(ratings, min_overlap=5, rng=np.random.default_rng(0), replicates=30)
    whole = json.loads(as_json(summary))
    monkeypatch.setattr(output, "_MANY_PAIRS", 3)
    pieces = list(output.json_pieces(summary, {"seed": 0}))
    assert len(pieces) > 3 * 28 / 3
    assert json.loads("".join(pieces)) == whole | {"seed": 0}


def test_a_group_does_not_count_the_units_of_other_groups_as_left_out():
    rows = [
        ("a", "u", "x"),
        ("b", "u", "x"),
        ("a", "v", "y"),
        ("b", "v", "x"),
        ("a", "w", "y"),
        ("b", "w", "y"),
    ]
    ratings = Ratings.from_rows(rows, cluster_of={"u": "1", "v": "1", "w": "2"})
    easy, hard = by_group(ratings, ["easy", "hard"], np.array([0, 0, 0, 0, 1, 1], dtype=np.int32))
    assert [easy.statistics[name].left_out for name in ("percent_agreement", "gwet_ac1")] == [{}, {}]
    assert (easy.statistics["percent_agreement"].n, hard.statistics["percent_agreement"].n) == (2, 1)
    assert easy.statistics["krippendorff_alpha"].value == krippendorff_alpha(
        Ratings.from_rows(rows[:4])
    ).value  # fmt: skip
