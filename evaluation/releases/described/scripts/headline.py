"""Headline numbers of a release from ratings.csv, with pandas alone: python analysis/headline.py [--json]

For each study and variable: Krippendorff's alpha and the mean of pairwise Cohen's kappas among people, the share of each label, the mean
where labels have numbers; and, where ratings.csv has real outputs, the simulation precision of each system. People's ordinary, counted
judgments that weren't excluded are used, as in the report.
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

FOLDER = Path(__file__).resolve().parent


def ratings_read(file: Path) -> pd.DataFrame:
    """The ratings that count: all columns are text."""
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    counted = (table["standing"] == "counted") & (table["role"] == "ordinary") & (table["excluded"] == "")
    return table[counted]


def alpha(table: pd.DataFrame, level: str, labels: list[str]) -> float | None:
    """Krippendorff's alpha over people's ratings of units with two or more; None where it isn't defined."""
    counts = table.groupby(["unit", "value"]).size().unstack(fill_value=0)
    counts = counts[counts.sum(axis=1) >= 2]
    totals = counts.sum()
    n = int(totals.sum())
    if n == 0 or (totals > 0).sum() < 2:
        return None
    if level == "ordinal":
        totals = totals.reindex(labels, fill_value=0)
        counts = counts.reindex(columns=labels, fill_value=0)
    names, total = list(totals.index), [float(one) for one in totals]

    def distance(i: int, j: int) -> float:
        if i == j:
            return 0.0
        if level == "ordinal":
            low, high = min(i, j), max(i, j)
            return (sum(total[low : high + 1]) - (total[low] + total[high]) / 2) ** 2
        if level in ("interval", "number"):
            return (float(names[i]) - float(names[j])) ** 2
        return 1.0

    places = range(len(names))
    apart = {(i, j): distance(i, j) for i in places for j in places}
    observed = sum(
        float((counts.iloc[:, i] * (counts.iloc[:, j] - (i == j)) / (counts.sum(axis=1) - 1)).sum())
        * apart[i, j]
        for i in places
        for j in places
    )
    expected = sum(total[i] * (total[j] - (i == j)) / (n - 1) * apart[i, j] for i in places for j in places)
    return 1 - observed / expected if expected else None


def mean_kappa(table: pd.DataFrame, least: int = 10) -> tuple[float | None, int]:
    """The mean of Cohen's kappas of pairs of people who share at least ``least`` units, and the number of pairs."""
    wide = table.pivot_table(index="unit", columns="rater", values="value", aggfunc="first")
    found = []
    for a, b in combinations(wide.columns, 2):
        both = wide[[a, b]].dropna()
        if len(both) < least:
            continue
        agree = float((both[a] == both[b]).mean())
        first, second = both[a].value_counts(normalize=True), both[b].value_counts(normalize=True)
        chance = float((first * second.reindex(first.index, fill_value=0)).sum())
        if chance < 1:
            found.append((agree - chance) / (1 - chance))
    return (sum(found) / len(found) if found else None), len(found)


def mean_score(table: pd.DataFrame, scores: dict[str, float]) -> float | None:
    """The mean of the labels' scores, or of the labels if they are numbers."""
    numbers = table["value"].map(scores) if scores else pd.to_numeric(table["value"], errors="coerce")
    return float(numbers.mean()) if numbers.notna().any() else None


def precision(table: pd.DataFrame, abstain: list[str]) -> dict[str, Any]:
    """Each system's simulation precision: over its explanations, the mean share of follow-ups whose majority label is the real output.

    Ties and majorities for a label in ``abstain`` aren't predictions and are left out.
    """
    known = table[table["real_output"] != ""]
    if known.empty:
        return {}
    votes = (
        known.groupby(["system", "explanation", "unit", "real_output", "value"])
        .size()
        .rename("n")
        .reset_index()
    )
    most = votes.groupby(["system", "explanation", "unit"])["n"].transform("max")
    top = votes[votes["n"] == most]
    single = top.groupby(["system", "explanation", "unit"])["value"].transform("size") == 1
    labelled = top[single & ~top["value"].isin(abstain)]
    right = (labelled["value"] == labelled["real_output"]).astype(float)
    by_explanation = right.groupby([labelled["system"], labelled["explanation"]]).mean()
    return {
        str(system): {"precision": float(part.mean()), "explanations": int(part.size)}
        for system, part in by_explanation.groupby(level=0)
    }


def headline(table: pd.DataFrame, variables: dict[str, Any]) -> dict[str, Any]:
    """All numbers, by study and variable."""
    found: dict[str, Any] = {}
    for slug, asked in variables.items():
        for name, about in asked["variables"].items():
            part = table[(table["study"] == slug) & (table["variable"] == name)]
            people = part[part["rater_kind"] == "human"]
            if people.empty:
                continue
            kappa, pairs = mean_kappa(people)
            numbers: dict[str, Any] = {
                "raters": int(people["rater"].nunique()),
                "units": int(people["unit"].nunique()),
                "ratings": len(people),
                "krippendorff_alpha": alpha(people, about["level"], about["labels"]),
                "mean_pairwise_kappa": kappa,
                "pairs": pairs,
                "shares": {
                    str(k): float(v)
                    for k, v in people["value"].value_counts(normalize=True).sort_index().items()
                },
            }
            if about["level"] != "nominal":
                numbers["mean"] = mean_score(people[~people["value"].isin(about["abstain"])], about["scores"])
            if name == asked["headline"]:
                numbers["precision"] = precision(people, about["abstain"])
            found.setdefault(slug, {})[name] = numbers
    return found


def main() -> None:
    variables = json.loads((FOLDER / "variables.json").read_text(encoding="utf-8"))
    found = headline(ratings_read(FOLDER.parent / "ratings.csv"), variables)
    if "--json" in sys.argv[1:]:
        print(json.dumps(found, indent=2))
        return
    for slug, of_study in found.items():
        for name, numbers in of_study.items():
            print(f"{slug}, {name}")
            for what, value in numbers.items():
                print(f"  {what.replace('_', ' ')}: {'not defined' if value is None else value}")


if __name__ == "__main__":
    main()
