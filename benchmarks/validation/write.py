"""Writes docs/validation.md from the last results beside this file: ``python -m benchmarks.validation.write``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.validation.attainable import mid_p_coverage
from benchmarks.validation.further_tables import (
    labels_table,
    labels_text,
    stored,
    winning_table,
    winning_text,
)
from benchmarks.validation.grid_frame import mark, starred
from benchmarks.validation.outside import outside, outside_table
from benchmarks.validation.planning_tables import ever_text, planned_table, watched_table
from benchmarks.validation.preferences_table import preferences_table, preferences_text
from benchmarks.validation.raters_table import ABOUT as RATERS_ABOUT
from benchmarks.validation.raters_table import raters_table
from evaluation.agreement.icc import LEAST_RESAMPLED

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "docs" / "validation.md"
TITLES = {
    "percent_agreement": "percent agreement",
    "krippendorff_alpha": "alpha",
    "gwet_ac1": "AC1",
    "mean kappa": "mean kappa, corrected",
    "weighted mean kappa": "weighted mean kappa, corrected",
}


def build() -> str:
    """The whole page."""
    (
        checks,
        grid,
        numbers,
        metrics,
        again,
        conger,
        gain,
        mixed,
        panels,
        watched,
        finite,
        planned,
        raters,
        pairs,
    ) = (
        json.loads((HERE / f"{name}.json").read_text("utf-8"))
        for name in (
            "checks",
            "agreement_grid",
            "numbers_grid",
            "coverage",
            "recheck",
            "conger_grid",
            "gain_grid",
            "mixed_grid",
            "alternative_grid",
            "sequential_grid",
            "finite_grid",
            "plan_grid",
            "raters_grid",
            "preferences",
        )
    )
    parts = [
        "# Validation: are the numbers right, and do the intervals cover?",
        "Made by `python -m benchmarks.validation.write` from the results of `checks`, `agreement_grid`, `conger_grid`, `numbers_grid`, `mixed_grid`, `alternative_grid`, `winning_candidates`, `labels_grid`, `gain_grid`, `sequential_grid`, `plan_grid`, `finite_grid`, `raters_grid`, `preferences` and `coverage` in "
        "`benchmarks/validation`; each of them can be run again with one command.",
        "## Against other implementations and published tables",
        "Random tables of 2-6 raters, 2-30 units and 2-5 labels, from chance to near agreement, some with missing ratings.",
        "\n".join(_checks(checks)),
        "## Coverage of agreement's 95 % intervals",
        f"{grid['about']['runs']:,} simulated studies a design, last run on {grid['about']['date']}; the target is 93-97 %. With a true "
        f"coverage of 95 %, the share found is between {95 - _error(95, grid):.1f} and {95 + _error(95, grid):.1f} % nineteen times out of "
        f"twenty; with one of 93 %, it is at least {93 - _error(93, grid):.1f} %. Raters label correctly with probabilities from .60 to .95 unless the design says otherwise. "
        '"By item": each follow-up has its own k raters; "by explanation": k raters judge all follow-ups of '
        "an explanation, whose labels are alike. Where a design has an interval in only some studies, the share is in brackets; "
        '"none": no interval, but the reason, because the pairs share too few explanations, or too few units have another label than '
        "the most frequent one. With few units only few values are possible: the mid-P interval of the share of 20 units on which two raters agree covers, exactly computed, "
        f"{_exact(20)} where at least three units of either kind are expected. Cohen's kappa of two labels is refused where there are fewer than 25 pairs of ratings: it covered "
        "98.6 % of 20 units of two raters, on intervals nearly 1 wide. No interval is refused by how often a study shows a rare label: studies that happen to show it often would keep theirs, "
        "and these would cover less. Every interval includes its estimate: "
        f"{'yes' if _all_hold(grid) else 'NO'}.",
        "\n".join(starred(_grid(grid))),
        "### Conger's kappa",
        f"{conger['about']['runs']:,} studies a design, last run on {conger['about']['date']}. In the first four designs few of many raters "
        "judge each explanation, so that few pairs share enough explanations for an interval of a mean of pairwise kappas.",
        "\n".join(starred(_conger(conger))),
        "### Labels that are numbers",
        f"{numbers['about']['runs']:,} studies a design, last run on {numbers['about']['date']}; the truth is the statistic of 100,000 "
        "units by the same raters, and for the generalized interval of ICC(2,1) that of the population of raters, drawn anew in each study. Five "
        "labels unless the design says otherwise. The median of few labels is one of them, so its intervals cover nearly always. "
        f"ICC(3,1) has the F interval of fewer than {LEAST_RESAMPLED} units and the bootstrap's of more.",
        "\n".join(_numbers(numbers)),
        "### Intraclass correlations of unbalanced raters",
        f"{mixed['about']['runs']:,} studies a design, last run on {mixed['about']['date']}: k of the raters on each unit. The model's interval takes units as "
        "independent, and for ICC(1,1) and ICC(2,1) raters as drawn at random: its truth is that of the population of raters, drawn anew in each study. The "
        "other truths are those of 60,000 units by the same raters. The share in brackets is that of the studies with an interval: an estimate of 0 has none from the jackknife. "
        f"Every interval includes its estimate: {'yes' if _all_hold(mixed) else 'NO'}.",
        "\n".join(_mixed(mixed)),
        "### May a simulator replace people?",
        f"{panels['about']['runs']:,} studies a design, last run on {panels['about']['date']}: some of the people on each unit, and one simulator on all. The true winning rate "
        "(omega) is the share of people who are worth less than epsilon more than the simulator on 100,000 units; the mean is that of the tests' rates, which are low where "
        "people are about epsilon apart from it. It has no 95 % interval: a share of a few people has few values, and simultaneous bounds over the people, which hold in 95 % "
        "of studies or more, hold in nearly all. These bounds stand beside it, under that name. The advantage probability (rho) has the bootstrap's interval. "
        f"Every interval, and every pair of bounds, includes its estimate: {'yes' if _all_hold(panels) else 'NO'}.",
        "\n".join(_panels(panels)),
        winning_text(tried := stored("winning_candidates")),
        "\n".join(winning_table(tried)),
        "### Strengths from pairwise preferences",
        preferences_text(pairs),
        "\n".join(preferences_table(pairs)),
        "### New raters",
        "Raters drawn from a population (their share of right labels is Beta(12, 4)), k of them on each unit. How often does an "
        "interval contain the value for the population of raters: one for these raters, and one for new raters (`--raters new`)?",
        "\n".join(starred(_new_raters(grid))),
        "### Shares outside 93-97 %",
        "Each share of the tables above, and of those of intraclass correlations of unbalanced raters, of simulatability gain, of raters like these and of these items, that is less than 93 or more than 97 %, and why; the median's "
        "are left out. Of a true coverage of 93 or 97 %, simulations show a little less or more; the limits are those of nineteen times out of twenty.",
        "\n".join(outside_table(outside(grid, conger, numbers, mixed, gain, raters, finite))),
        "## Coverage of the metrics' 95 % intervals",
        f"{metrics['about']['runs']:,} simulated studies a figure: 100 instances (300 for the prediction-powered figures, people on "
        "60 of them), follow-ups of one instance correlated at .2.",
        "\n".join(_metrics(metrics)),
        "## Coverage of prediction-powered 95 % intervals for these items",
        f"{finite['about']['runs']:,} simulated studies a design, last run on {finite['about']['date']}: people label all follow-ups of some instances, "
        "drawn at random, a simulator those of all. The truth is what people's labels on all items of the same study give. Helped by the simulator and by people "
        "alone; in brackets the share of studies with an interval, where it isn't all: there is none where the simulator makes no error on the labelled items. "
        "The widths are those of helped macro precision. "
        f"Every interval includes its estimate: {'yes' if _all_hold(finite) else 'NO'}.",
        "\n".join(_finite(finite)),
        "## Coverage of prediction-powered 95 % intervals for labels of any task",
        labels_text(labels := stored("labels_grid")),
        "\n".join(labels_table(labels)),
        "## Coverage of metrics' 95 % intervals for raters like these, and for these items",
        f"{raters['about']['runs']:,} simulated studies a design, last run on {raters['about']['date']}: {RATERS_ABOUT} "
        f"Every interval includes its estimate: {'yes' if _all_hold(raters) else 'NO'}.",
        "\n".join(raters_table(raters, _share)),
        "## Coverage of simulatability gain's 95 % intervals",
        f"{gain['about']['runs']:,} simulated studies a design, last run on {gain['about']['date']}: instances x follow-ups, three raters of 15 on each "
        "follow-up in each arm unless the design says otherwise. Skill of raters and difficulty of instances and follow-ups are normal on the logit "
        "scale, and the two arms' difficulties are correlated at .7. The explanation removes 40 % of the errors unless the design says otherwise; the truth is "
        "that of 40,000 instances judged by the same raters. The share in brackets is that of the studies with an interval, where it isn't all: NSG is refused where "
        "fewer than eight instances have a wrong prediction without the explanation. Where that happens in many studies, those that are left have more errors than "
        f"usual, and their intervals cover more often. Every interval includes its estimate: {'yes' if _all_hold(gain) else 'NO'}.",
        "\n".join(_gain(gain)),
        "## Tests of two systems that do not differ",
        "\n".join(_levels(metrics)),
        "## Studies that are watched",
        f"{watched['about']['runs']:,} simulated studies a design, last run on {watched['about']['date']}, looked at after every "
        f"{watched['about']['every']} judgments, from the eighth complete instance on. Without an effect, how many are called significant at any look? "
        "The plain interval is that of one look. The two kinds of alpha spending have their boundaries from the share of complete instances, and compare the t statistic "
        "over instances (as a normal one of the same p value) with them: that is an approximation, which fails where shares are near 0 or 1 and instances few, as in the third "
        "design. Don't use them there. The confidence sequence needs no approximation and no plan of looks: it stays below 5 % everywhere, and needs more data to find an effect.",
        "\n".join(watched_table(watched)),
        "## Analysis plans",
        f"{planned['about']['runs']:,} simulated studies a design, last run on {planned['about']['date']}. The power that a plan is told, beside the share of as many other "
        "studies that find the effect when their ratings are analysed as a report does. Differences of up to twice the error are those of simulation.",
        "\n".join(planned_table(planned)),
        f"Studies of two systems that do not differ (60 instances, 2 follow-ups, 3 raters), looked at after every {planned['about']['every']} judgments with the interval that the "
        f"live page shows; the share that is ever called significant: {ever_text(planned)}.",
        "## The same again with other studies",
        *_recheck(again),
    ]
    return "\n\n".join(parts) + "\n"


def _exact(units: int) -> str:
    """The range and the mean of the exact coverage of the mid-P interval, in words."""
    found = 100 * mid_p_coverage(units)
    return f"{found.min():.1f} to {found.max():.1f} %, on average {found.mean():.1f} %,"


def _error(share: float, grid: dict[str, Any]) -> float:
    """Half the width, in percentage points, of where a share of the simulated studies lies nineteen times out of twenty."""
    return float(1.96 * (share * (100 - share) / grid["about"]["runs"]) ** 0.5)


def _checks(checks: list[dict[str, Any]]) -> Iterator[str]:
    yield "| statistic | against | cases | largest difference |"
    yield "|---|---|---|---|"
    for check in checks:
        difference = f"{check['difference']:.1e}" if check["difference"] else "0"
        yield f"| {check['statistic']} | {check['against']} | {check['cases']:,} | {difference} |"


def _all_hold(grid: dict[str, Any]) -> bool:
    return all(found["holds its estimate"] for row in grid["coverage"].values() for found in row.values())


def _design(design: dict[str, Any]) -> str:
    prevalence = "/".join(f"{share:g}" for share in design["prevalence"])
    units = (
        f"{design['clusters']:,} x {design['per_cluster']}"
        if design["per_cluster"] > 1
        else f"{design['clusters']:,}"
    )
    how = "by explanation" if design["whole"] else "by item"
    missing = f", {design['missing']:.0%} missing" if design["missing"] else ""
    least, most = design["skill"]
    missing += f", right with {least:.2f}-{most:.2f}" if (least, most) != (0.6, 0.95) else ""
    return f"{units} | {design['k']} of {design['raters']}, {how}{missing} | {prevalence}"


def _grid(grid: dict[str, Any]) -> Iterator[str]:
    yield "| explanations x follow-ups | raters | labels | " + " | ".join(TITLES.values()) + " |"
    yield "|---|---|---|" + "---|" * len(TITLES)
    for name, row in grid["coverage"].items():
        cells = [_share(row[statistic]) for statistic in TITLES]
        yield f"| {_design(grid['designs'][name])}{mark(grid, name)} | " + " | ".join(cells) + " |"


def _conger(grid: dict[str, Any]) -> Iterator[str]:
    yield "| explanations x follow-ups | raters | labels | truth | mean estimate | covered, % | interval below, % | above, % | mean width |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, found in grid["coverage"].items():
        shares = " | ".join(f"{100 * found[key]:.1f}" for key in ("below", "above"))
        yield (
            f"| {_design(grid['designs'][name])}{mark(grid, name)} | {found['truth']:.3f} | {found['mean']:.3f} | {_share(found)} | {shares} "
            f"| {found['width']:.3f} |"
        )


NUMBERS = {
    "krippendorff_alpha": "alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "AC1",
    "gwet_ac2_linear": "AC2, linear",
    "gwet_ac2_quadratic": "AC2, quadratic",
    "icc_2_1": "ICC(2,1)",
    "icc_3_1": "ICC(3,1)",
    "icc_2_1_f": "ICC(2,1), generalized",
    "icc_3_1_f": "ICC(3,1), F",
    "mean": "mean",
    "median": "median",
    "mean kappa, linear": "kappa, linear",
    "mean kappa, quadratic": "kappa, quadratic",
}


def _numbers(numbers: dict[str, Any]) -> Iterator[str]:
    yield "| design | " + " | ".join(NUMBERS.values()) + " |"
    yield "|---|" + "---|" * len(NUMBERS)
    for name, row in numbers["coverage"].items():
        yield f"| {name} | " + " | ".join(_share(row.get(statistic)) for statistic in NUMBERS) + " |"


MIXED = {
    "icc_1_1_mixed": "ICC(1,1), jackknife",
    "icc_2_1_mixed": "ICC(2,1), jackknife",
    "icc_3_1_mixed": "ICC(3,1), jackknife",
    "icc_1_1_mixed_f": "ICC(1,1), model",
    "icc_2_1_mixed_f": "ICC(2,1), model",
    "icc_3_1_mixed_f": "ICC(3,1), model",
}


def _mixed(mixed: dict[str, Any]) -> Iterator[str]:
    yield "| design | true ICC(3,1), or (1,1) | " + " | ".join(MIXED.values()) + " |"
    yield "|---|---|" + "---|" * len(MIXED)
    for name, row in mixed["coverage"].items():
        cells = " | ".join(_share(row.get(figure)) for figure in MIXED)
        true = row.get("icc_3_1_mixed_f") or row["icc_1_1_mixed_f"]
        yield f"| {name} | {true['truth']:.2f} | {cells} |"


def _panels(panels: dict[str, Any]) -> Iterator[str]:
    yield (
        "| people on each unit | units | epsilon | true winning rate | mean | interval | bounds hold, % | mean width of bounds "
        "| true advantage probability | mean | covered, % | mean width |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for name, row in panels["coverage"].items():
        design = panels["designs"][name]
        units = f"{design['instances']}" + (f" x {design['follow_ups']}" if design["follow_ups"] > 1 else "")
        figures = " | ".join(
            f"{row[figure]['truth']:.2f} | {row[figure]['mean']:.2f} | {none}{_share(row[figure])} | {row[figure]['width']:.2f}"
            for figure, none in (("winning_rate", "none | "), ("advantage_probability", ""))
        )
        yield f"| {name}: {design['k']} of {design['people']} | {units} | {design['epsilon']:g} | {figures} |"


GAIN = {
    "accuracy_with": "accuracy with",
    "accuracy_without": "without",
    "gain": "gain",
    "nsg": "NSG",
    "misled": "share misled",
    "helped": "share helped",
}


def _gain(gain: dict[str, Any]) -> Iterator[str]:
    yield "| design | true NSG | " + " | ".join(GAIN.values()) + " |"
    yield "|---|---|" + "---|" * len(GAIN)
    for name, row in gain["coverage"].items():
        cells = [_share(row[figure]) for figure in GAIN]
        yield f"| {name} | {row['nsg']['truth']:.2f} | " + " | ".join(cells) + " |"


FINITE = {"precision": "precision, macro", "micro": "precision, micro", "simulatable": "simulatable share"}


def _finite(finite: dict[str, Any]) -> Iterator[str]:
    heads = [f"{title}, {how}" for title in FINITE.values() for how in ("helped", "alone")]
    yield (
        "| labelled instances | follow-ups | precision | simulator right | "
        + " | ".join(heads)
        + " | width | width for items like these |"
    )
    yield "|---|---|---|---|" + "---|" * (len(heads) + 2)
    for name, row in finite["coverage"].items():
        design = finite["designs"][name]
        cells = [_share(row[f"{figure}, {kind}"]) for figure in FINITE for kind in ("estimate", "people")]
        helped = row["precision, estimate"]
        widths = f"{helped['width']:.3f} | {helped['width for items like these']:.3f}"
        yield (
            f"| {design['labelled']} of {design['instances']} | {design['follow_ups']} | {design['precision']:g} | {design['simulator']:g} | "
            f"{' | '.join(cells)} | {widths} |"
        )


def _share(found: dict[str, Any] | None) -> str:
    """Coverage in per cent, with the share of studies that have an interval where it isn't all of them."""
    if found is None:
        return ""
    some = f" ({found['intervals']:.0%})" if 0 < found["intervals"] < 1 else ""
    return "none" if found["coverage"] is None else f"{100 * found['coverage']:.1f}{some}"


def _new_raters(grid: dict[str, Any]) -> Iterator[str]:
    shown = ("krippendorff_alpha", "mean kappa")
    heads = [f"{TITLES[name]}, {whose} raters" for name in shown for whose in ("these", "new")]
    yield "| units | raters | " + " | ".join(heads) + " |"
    yield "|---|---|" + "---|" * len(heads)
    for panel, design in grid["panels"].items():
        names = [f"{panel}, {name}, {whose}" for name in shown for whose in ("these", "new")]
        cells = " | ".join(f"{100 * grid['new raters'][name]:.1f}{mark(grid, name)}" for name in names)
        yield f"| {design['units']:,} | {design['k']} of {design['raters']} | {cells} |"


def _metrics(metrics: dict[str, Any]) -> Iterator[str]:
    yield "| figure | truth | mean estimate | covered, % | interval below, % | above, % | mean width |"
    yield "|---|---|---|---|---|---|---|"
    for name, found in metrics["cases"].items():
        if "coverage" in found:
            numbers = [f"{found[key]:.4f}" for key in ("truth", "mean")]
            numbers += [f"{100 * found[key]:.1f}" for key in ("coverage", "below", "above")]
            yield f"| {name} | " + " | ".join([*numbers, f"{found['width']:.4f}"]) + " |"


def _levels(metrics: dict[str, Any]) -> Iterator[str]:
    yield "| test | rejected at 5 %, % | at 1 %, % |"
    yield "|---|---|---|"
    for name, found in metrics["cases"].items():
        if "at .01" in found:
            yield f"| {name} | {100 * found['type I error at .05']:.1f} | {100 * found['at .01']:.1f} |"


def _recheck(again: dict[str, Any]) -> Iterator[str]:
    about, cells = again["about"], again["cells"]
    by_size = sorted(cells, key=lambda cell: -cell["standard errors"])
    beyond = sum(cell["standard errors"] > 1.96 for cell in cells)
    yield (
        f"The simulations above aren't repeated at each change. On {about['date']}, {about['runs']:,} new studies of "
        f"every design and figure that was there were simulated (`recheck`, seed {about['seed']}): {len(cells)} shares, each compared with the one "
        f"above. {beyond} of them are more than 1.96 standard errors apart, where chance alone gives about {0.05 * len(cells):.0f} if "
        "all were independent (shares of one design come from the same studies). Every interval includes its estimate: "
        f"{'yes' if again['every interval holds its estimate'] else 'NO'}. The largest differences:"
    )
    lines = ["| share | above, % | again, % | standard errors |", "|---|---|---|---|"]
    for cell in by_size[:5]:
        before, now = (f"{100 * cell[key]:.1f}" for key in ("stored", "again"))
        lines.append(f"| {cell['name']} | {before} | {now} | {cell['standard errors']:.1f} |")
    yield "\n".join(lines)
    larger = again.get("larger", [])
    if larger:
        said = "; ".join(
            f"{one['name'].partition(': ')[2]} {100 * one['again']:.1f} % ({100 * one['stored']:.1f} % above, {one['standard errors']:.1f} "
            "standard errors)"
            for one in larger
        )
        yield (
            f"The design with the largest difference was simulated once more, with {larger[0]['studies']:,} new studies (seed "
            f"{larger[0]['seed']}): {said}."
        )


if __name__ == "__main__":
    TARGET.write_text(build(), encoding="utf-8")
