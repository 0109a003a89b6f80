"""docs/validation.md matches the last results, and these are within their limits."""

from __future__ import annotations

import json

from benchmarks.validation.write import HERE, TARGET, build


def results(name: str):
    return json.loads((HERE / f"{name}.json").read_text("utf-8"))


def test_the_page_is_built_from_the_results():
    assert TARGET.read_text("utf-8") == build(), "run python -m benchmarks.validation.write"


def test_every_check_agrees_to_ten_digits():
    checks = results("checks")
    assert len(checks) >= 20
    assert all(check["cases"] and check["difference"] < 1e-10 for check in checks), checks


def test_intervals_cover_in_every_design_that_has_one():
    grid = results("agreement_grid")
    assert grid["about"]["runs"] >= 1_000
    for design, row in grid["coverage"].items():
        for statistic, found in row.items():
            assert found["holds its estimate"], (design, statistic)
            if "kappa" in statistic and found["intervals"] > 0.1:
                assert 0.92 <= found["coverage"] <= 0.985, (design, statistic, found)


def test_intervals_for_new_raters_cover_in_every_panel():
    grid = results("agreement_grid")
    assert len(grid["panels"]) >= 4
    for name, share in grid["new raters"].items():
        if name.endswith("new"):
            assert 0.925 <= share <= 0.975, (name, share)


def test_metrics_were_simulated_often_enough():
    coverage = results("coverage")
    assert coverage["about"]["runs"] >= 1_000
    assert all(
        0.925 <= found["coverage"] <= 0.975 for found in coverage["cases"].values() if "coverage" in found
    )


def test_the_simulations_give_the_same_again():
    again = results("recheck")
    assert again["every interval holds its estimate"]
    designs = {cell["name"].partition(":")[0] for cell in again["cells"]}
    assert set(results("coverage")["cases"]) <= designs
    assert set(results("agreement_grid")["designs"]) <= designs
    for cell in again["cells"]:
        assert cell["standard errors"] < 3.5, cell
