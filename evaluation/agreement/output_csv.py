"""An agreement summary as CSV: one row per statistic; and the distributions of units."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from annotator.core.csv_cells import cell_neutral
from evaluation.agreement.descriptive import UnitDistributions
from evaluation.agreement.output import NOTHING, Additions
from evaluation.agreement.summary import AgreementSummary

_COLUMNS = ("statistic", "a", "b", "value", "low", "high", "n", "reason", "interval")


def as_csv(
    summary: AgreementSummary, settings: Mapping[str, Any] | None = None, additions: Additions = NOTHING
) -> str:
    """One row per statistic; ``a`` and ``b`` name what it is about (a rater, a pair of raters, a label, a unit, a group).

    Names that a spreadsheet would read as a formula start with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    rows = [*_csv_rows(summary, summary.to_dict()), *_csv_additions(additions)]
    for row in rows:
        writer.writerow([cell_neutral(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()


def _csv_row(statistic: str, found: Mapping[str, Any], a: str = "", b: str = "") -> list[Any]:
    values = (found.get(key) for key in ("value", "low", "high", "n"))
    numbers = ("" if value is None else value for value in values)
    return [statistic, a, b, *numbers, found.get("reason", ""), found.get("interval", "")]


def _csv_additions(additions: Additions) -> Iterator[list[Any]]:
    for column, groups in additions.groups.items():
        for group in groups:
            for name, found in group.statistics.items():
                yield _csv_row(f"group:{name}", found.to_dict(), column, group.name)
    if additions.accuracy is not None:
        yield _csv_row("accuracy", additions.accuracy.ratings.to_dict())
        if additions.accuracy.labels is not None:
            yield _csv_row("accuracy_of_labels", additions.accuracy.labels.to_dict())
        for rater, found in additions.accuracy.raters.items():
            yield _csv_row("rater_accuracy", found.to_dict(), rater)


def _csv_rows(summary: AgreementSummary, result: dict[str, Any]) -> Iterator[list[Any]]:
    estimate = _csv_row
    for name in ("raters", "units", "ratings") if summary.named else ("units", "ratings"):
        yield [name, "", "", result[name], "", "", "", "", ""]
    for label, share in result["labels"].items():
        yield estimate("label_share", {"value": share, "n": result["ratings"]}, label)
    counted = ("percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1")
    for name in counted:
        yield estimate(name, result[name])
    for name in summary.everyone.further:
        yield estimate(name, result[name])
    further = summary.people.further if summary.people is not None else {}
    for name in [*counted, *further] if "people" in result else ():
        yield estimate(name, result["people"][name], "people")
    for name in [key for key in result if key.startswith("cohen_kappa")]:
        yield estimate(f"{name}_mean", result[name]["mean"])
        yield estimate(f"{name}_weighted_mean", result[name]["weighted_mean"])
        for kind in ("corrected_mean", "corrected_weighted_mean"):
            if kind in result[name]:
                yield estimate(f"{name}_{kind}", result[name][kind])
        for pair in result[name]["pairs"]:
            yield estimate(name, pair, pair["a"], pair["b"])
    if not summary.named:
        yield from _csv_aggregate(result)
        return
    groups = [("human_human", "", result["human_human"])]
    groups += [("human_simulator", name, found) for name, found in result["human_simulator"].items()]
    for name, who, found in groups:
        yield estimate(name, found, who)
        yield estimate(f"{name}_weighted_mean", found["weighted_mean"], who)
    for row in result["rater_agreement"]:
        yield estimate("rater_agreement", row["agreement"], row["rater"])
        yield estimate("rater_kappa", row["kappa"], row["rater"])
    for test in result["alternative_annotator_test"]:
        for name in ("winning_rate", "advantage_probability"):
            yield estimate(name, test[name], test["simulator"])
        if bounds := test["winning_bounds"]:
            found = {"low": bounds["at_least"], "high": bounds["at_most"], "interval": bounds["how"]}
            yield estimate("winning_rate_bounds", found | {"n": len(test["humans"])}, test["simulator"])
        for human in test["humans"]:
            found = {
                "value": human["p"],
                "n": human["units"],
                "reason": "rejected" if human["rejected"] else "",
            }
            yield estimate("alternative_annotator_test_p", found, test["simulator"], human["human"])
    yield from _csv_aggregate(result)


def _csv_aggregate(result: dict[str, Any]) -> Iterator[list[Any]]:
    estimate = _csv_row
    if "aggregate" in result:
        rule = f"aggregate:{result['aggregate']['rule']}"
        for label, share in result["aggregate"]["labels"].items():
            yield estimate(f"{rule}:label_share", {"value": share, "n": result["aggregate"]["n"]}, label)
        for unit, label in result["aggregate"].get("units", {}).items():
            yield [rule, unit, label or "", "", "", "", "", "", ""]


def units_csv(found: UnitDistributions) -> str:
    """One row for each unit: its ratings, entropy in bits, mean if labels are numbers, and the share of each label."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["unit", "ratings", "entropy", "mean", *map(cell_neutral, found.labels)])
    for row in found.rows():
        shares = [row["labels"].get(label, 0) for label in found.labels]
        mean = "" if row["mean"] is None else row["mean"]
        writer.writerow([cell_neutral(row["unit"]), row["ratings"], row["entropy"], mean, *shares])
    return out.getvalue()
