"""An agreement summary as tables for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from heapq import nsmallest
from textwrap import wrap
from typing import Any

from evaluation.agreement.by_group import RatingGroup
from evaluation.agreement.conger import NAMES as CONGER
from evaluation.agreement.descriptive import label_near
from evaluation.agreement.new_raters import is_for_new_raters
from evaluation.agreement.output import NOTHING, Additions
from evaluation.agreement.summary import AgreementSummary
from evaluation.core.counted import counted
from evaluation.core.estimate import Estimate
from evaluation.core.interval import LEAST_CLUSTERS

#: At most this many raters or labels are shown; the JSON and the CSV have all.
_SHOWN = 60
#: Of more pairs of raters than this, only this many are shown, the ones with the lowest kappa.
_SHOWN_PAIRS = 20
#: Notes are broken into lines where a table would be wider than this, but are never narrower than ``_NARROWEST``.
_WIDTH, _NARROWEST = 120, 36
#: What the table for people calls further statistics; those that it lacks are in the JSON and CSV.
FURTHER = {
    "fleiss_kappa_unequal": "Fleiss' kappa, unequal numbers of raters",
    "gwet_ac2_linear": "Gwet's AC2, linear",
    "gwet_ac2_quadratic": "Gwet's AC2, quadratic",
    "icc_1_1": "ICC(1,1)",
    "icc_2_1": "ICC(2,1)",
    "icc_3_1": "ICC(3,1)",
    "icc_1_k": "ICC(1,k)",
    "icc_2_k": "ICC(2,k)",
    "icc_3_k": "ICC(3,k)",
    "icc_1_1_mixed": "ICC(1,1), mixed model",
    "icc_2_1_mixed": "ICC(2,1), mixed model",
    "icc_3_1_mixed": "ICC(3,1), mixed model",
    "icc_1_k_mixed": "ICC(1,k), mixed model",
    "icc_2_k_mixed": "ICC(2,k), mixed model",
    "icc_3_k_mixed": "ICC(3,k), mixed model",
    "mean": "mean of the ratings",
    "median": "median of the ratings",
    "mean_rank": "mean rank of the ratings",
    "median_rank": "median of the ratings",
}


def as_text(
    summary: AgreementSummary,
    settings: Mapping[str, Any] | None = None,
    additions: Additions = NOTHING,
    *,
    all_pairs: bool = False,
) -> str:
    """A table to read, wide enough for its names; undefined figures have their reason. Of many pairs of raters, the lowest
    kappas are shown, or with ``all_pairs`` every one."""
    blocks = [
        _head(summary, settings or {}),
        _labels(summary),
        _overall(summary),
        _not_for_new(summary, additions),
    ]
    if summary.named:
        blocks += [_pairs(summary, all_pairs), _raters(summary), _alternative(summary)]
    blocks += [
        _aggregate(summary),
        *(_groups(*item, list(summary.labels)) for item in additions.groups.items()),
        _accuracy(additions),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(summary: AgreementSummary, settings: Mapping[str, Any]) -> str:
    everyone = summary.everyone
    simulators = f" ({len(summary.simulators)} of them simulators)" if summary.simulators else ""
    by = f" by {counted(everyone.raters, 'raters')}{simulators}" if summary.named else ""
    what = f"{counted(everyone.ratings, 'ratings')} of {counted(summary.units, 'units')}"
    lines = [f"{what}{by}, {summary.level} labels"]
    lines += [f"left out: {counted(count, reason)}" for reason, count in summary.left_out.items()]
    drawn = settings.get("bootstrap", {})
    if drawn.get("replicates"):
        whose = "new" if summary.new_raters else "these"
        lines.append(
            f"95 % intervals, for {whose} raters and other {summary.drawn}: {drawn['replicates']:,} bootstrap replicates, "
            f"seed {drawn['seed']}; jackknife for kappa"
        )
    return "\n".join(lines)


def _labels(summary: AgreementSummary) -> str:
    shares = (
        sorted(summary.labels.items(), key=lambda item: -item[1])
        if summary.level == "nominal"
        else [*summary.labels.items()]
    )
    rows = [(label, _number(share)) for label, share in shares[:_SHOWN]]
    return _table(("label", "share"), rows) + _more(len(shares))


def _overall(summary: AgreementSummary) -> str:
    everyone = summary.everyone
    median = everyone.further.get("median_rank")
    rows = [
        ("percent agreement", everyone.percent_agreement),
        ("Krippendorff's alpha", everyone.krippendorff_alpha),
        ("Fleiss' kappa", everyone.fleiss_kappa),
        ("Gwet's AC1", everyone.gwet_ac1),
        *((FURTHER[name], found) for name, found in everyone.further.items() if name in FURTHER),
    ]
    kappas = []
    for weights, found in (
        reversed(list(summary.kappa.items())) if summary.named else ()
    ):  # the strongest weights first
        kind = "" if weights == "nominal" else f", {weights}"
        kappas += [(f"Cohen's kappa{kind}, mean of pairs", found.mean["all"])]
        if "all" in found.corrected:
            kappas += [("  corrected for few shared units", found.corrected["all"])]
        kappas += [(f"Cohen's kappa{kind}, weighted by units", found.weighted_mean["all"])]
        kappas += [(f"Conger's kappa{kind}", everyone.further[CONGER[weights]])]
    rows = [*kappas, *rows] if "quadratic" in summary.kappa else [*rows, *kappas]
    if summary.people is not None:
        rows += [
            ("people: percent agreement", summary.people.percent_agreement),
            ("people: Krippendorff's alpha", summary.people.krippendorff_alpha),
        ]
        for weights, one in reversed(list(summary.kappa.items())):
            kind = "" if weights == "nominal" else f", {weights}"
            rows += [(f"human-human kappa{kind}", one.mean["people"])]
            if "people" in one.corrected:
                rows += [("  corrected for few shared units", one.corrected["people"])]
            rows += [(f"people: Conger's kappa{kind}", summary.people.further[CONGER[weights]])]
            rows += [(f"human-simulator kappa{kind}, {name}", one.mean[name]) for name in summary.simulators]
    labels = list(summary.labels)
    return _table(
        ("statistic", "value", "low", "high", "n", ""),
        [
            (name, *(_label_estimate(found, labels) if found is median else _estimate(found)))
            for name, found in rows
        ],
    ) + _ranks(summary)


def _ranks(summary: AgreementSummary) -> str:
    """What a mean of ranks is, if the labels have an order but no numbers."""
    labels = list(summary.labels)
    if "mean_rank" not in summary.everyone.further or not labels:
        return ""
    return f"\nranks: {labels[0]!r} is 1 and {labels[-1]!r} is {len(labels)}; a mean of them takes all steps as equal"


def _label_estimate(found: Estimate, labels: Sequence[str]) -> tuple[str, ...]:
    """A median of ranks as the label that has it."""
    _, _, _, n, note = _estimate(found)
    named = (label_near(labels, value) or "-" for value in (found.value, found.low, found.high))
    return (*named, n, note)


def _not_for_new(summary: AgreementSummary, additions: Additions) -> str:
    """The intervals that are for these raters although those for new raters were requested."""
    if not summary.new_raters:
        return ""
    found = summary.everyone.further.items()
    names = [
        FURTHER[name]
        for name, one in found
        if name in FURTHER and not math.isnan(one.low) and not is_for_new_raters(one)
    ]
    names += ["kappa of single pairs"] if summary.named else []
    names += ["accuracy"] if additions.accuracy is not None else []
    return f"intervals for these raters only: {', '.join(names)}" if names else ""


def _pairs(summary: AgreementSummary, all_pairs: bool) -> str:
    # Only what is shown is kept: there may be a hundred thousand.
    weights, lead = list(summary.kappa.items())[-1]
    kappa = "kappa" if weights == "nominal" else f"{weights} kappa"
    total, asked = lead.size, lead.intervals is not None
    if not total:
        return ""
    few = all_pairs or total <= _SHOWN_PAIRS
    rows = (
        sorted(lead.iterate_rows(), key=lambda row: not row["n"])  # pairs that share no unit come last
        if few
        else nsmallest(_SHOWN_PAIRS, lead.iterate_rows(), key=_lowest)
    )
    shown = []
    for row in rows:
        note = row["reason"] or ("" if row["averaged"] else "not averaged: too few shared units")
        if not note and asked and row["low"] is None:
            note = f"no interval: fewer than {LEAST_CLUSTERS} {summary.drawn}, or too few with another label"
        numbers = (_number(row[key]) for key in ("agreement", "value", "low", "high"))
        shown.append((row["a"], row["b"], f"{row['n']:,}", *numbers, note))
    table = _table(("rater", "rater", "n", "agreement", kappa, "low", "high", ""), shown)
    if few:
        return table
    return f"the {_SHOWN_PAIRS} lowest of {total:,} pairs of raters (--all-pairs shows every one)\n{table}"


def _lowest(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """The order of pairs: averaged ones first, then by kappa; those without one come last."""
    value = row["value"]
    return value is None, not row["averaged"], 0.0 if value is None else value


def _raters(summary: AgreementSummary) -> str:
    rest = "other people" if summary.simulators else "other raters"
    rows = []
    for name in summary.raters.raters[:_SHOWN]:
        agreement, kappa = summary.raters.of(name)
        mark = "simulator" if name in summary.simulators else ""
        rows.append(
            (name, f"{agreement.n:,}", _number(agreement.value), _number(kappa.value), kappa.reason or mark)
        )
    header = (f"rater against the {rest}", "n", "agreement", "kappa", "")
    return _table(header, rows) + _more(len(summary.raters.raters)) if rows else ""


def _alternative(summary: AgreementSummary) -> str:
    blocks = []
    for test in summary.alternative:
        rows = [
            ("winning rate (0.5 or more: may replace people)", *_estimate(test.winning_rate)),
            ("advantage probability", *_estimate(test.advantage_probability)),
        ]
        head = _table((f"alternative annotator test: {test.simulator}, epsilon {test.epsilon:g}", "value", "low", "high",
                       "n", ""), rows)  # fmt: skip
        if test.winning_bounds:
            low, high = (_number(end) for end in (test.winning_bounds.at_least, test.winning_bounds.at_most))
            head += f"\nwinning rate: at least {low}, at most {high} ({test.winning_bounds.how})"
        people = [
            (human.human, f"{human.units:,}", _number(human.simulator_advantage), _number(human.human_advantage),
             _number(human.p), _number(human.adjusted_p), "simulator wins" if human.rejected else "")
            for human in test.humans
        ]  # fmt: skip
        header = ("left out", "units", "simulator >=", "person >=", "p", "adjusted p", "")
        skipped = [f"skipped: {who}, {units} units" for who, units in test.skipped]
        blocks.append("\n".join([head, *([_table(header, people)] if people else []), *skipped]))
    return "\n\n".join(blocks)


def _aggregate(summary: AgreementSummary) -> str:
    if summary.aggregate is None:
        return ""
    found = summary.aggregate
    head = f"labels for each of {len(found.tables):,} raters, then the mean"
    if len(found.tables) == 1:
        (table,) = found.tables
        left_out = "".join(f", without {counted(count, reason)}" for reason, count in table.left_out.items())
        head = f"one label per unit by {found.rule}: {table.n:,} units{left_out}"
    rows = [(label, _number(share)) for label, share in found.shares.items()][:_SHOWN]
    return head + "\n" + _table(("label", "share"), rows)


#: Statistics of groups in the table for people.
GROUPED = {
    "percent_agreement": "agreement",
    "krippendorff_alpha": "alpha",
    "gwet_ac1": "AC1",
    "cohen_kappa_quadratic_mean": "mean kappa, quadratic",
    "cohen_kappa_mean": "mean kappa",
    "mean": "mean",
    "median": "median",
    "mean_rank": "mean rank",
    "median_rank": "median",
    "accuracy": "accuracy",
    "accuracy_of_labels": "accuracy, labels",
}


def _groups(column: str, groups: Sequence[RatingGroup], labels: Sequence[str]) -> str:
    names = [name for name in GROUPED if any(name in group.statistics for group in groups)]
    rows = [
        (
            group.name,
            f"{group.ratings:,}",
            f"{group.units:,}",
            f"{group.raters:,}",
            *(
                _with_interval(group.statistics.get(name), labels if name == "median_rank" else ())
                for name in names
            ),
        )
        for group in groups
    ]
    return _table((column, "ratings", "units", "raters", *(GROUPED[name] for name in names)), rows)


def _with_interval(found: Estimate | None, labels: Sequence[str] = ()) -> str:
    """A value and its interval; ranks as the ``labels`` that have them."""
    if found is None or math.isnan(found.value):
        return "-"
    write = partial(label_near, labels) if labels else _short
    ends = "" if math.isnan(found.low) else f" [{write(found.low)}, {write(found.high)}]"
    return f"{write(found.value)}{ends}"


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1_000 else f"{value:.1e}"


def _accuracy(additions: Additions) -> str:
    if additions.accuracy is None:
        return ""
    rows = [("single ratings", *_estimate(additions.accuracy.ratings))]
    if additions.accuracy.labels is not None:
        rows.append(("one label per unit", *_estimate(additions.accuracy.labels)))
    shown = list(additions.accuracy.raters.items())
    rows += [(name, *_estimate(found)) for name, found in shown[:_SHOWN]]
    return _table(("accuracy against the correct labels", "value", "low", "high", "n", ""), rows) + _more(
        len(shown)
    )


def _estimate(found: Estimate) -> tuple[str, ...]:
    notes = [f"without {counted(count, reason)}" for reason, count in found.left_out.items()]
    if found.interval.startswith("none: "):
        notes.append(f"no interval: {found.interval.removeprefix('none: ')}")
    note = f"not defined: {found.reason}" if found.reason else "; ".join(notes)
    return _number(found.value), _number(found.low), _number(found.high), f"{found.n:,}", note


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.4f}"


def _more(count: int) -> str:
    return f"\n... and {count - _SHOWN:,} more (all in --format json or csv)" if count > _SHOWN else ""


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their cells; those that hold numbers are aligned to the right. Long notes, in a last column without a
    name, are broken into lines."""
    lines = [header, *(tuple(map(_one_line, row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    right = [all(_numeric(line[column]) for line in lines[1:]) for column in range(len(header))]
    if not header[-1]:
        room = max(_WIDTH - sum(widths[:-1]) - 2 * len(widths[:-1]), _NARROWEST)
        lines = [part for line in lines for part in _broken(line, room)]
        widths[-1] = min(widths[-1], room)
    shown = [
        "  ".join(
            c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([shown[0], "  ".join("-" * width for width in widths if width), *shown[1:]])


def _broken(line: tuple[str, ...], room: int) -> list[tuple[str, ...]]:
    """A line whose last cell is too long, as several lines."""
    first, *others = wrap(line[-1], room, break_long_words=False, break_on_hyphens=False) or [""]
    blank = ("",) * (len(line) - 1)
    return [(*line[:-1], first), *((*blank, f"  {part}") for part in others)]


def _one_line(cell: str) -> str:
    """A cell without line ends and other characters that move the cursor."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in cell)


def _numeric(cell: str) -> bool:
    return cell == "-" or cell.replace(",", "").replace(".", "").removeprefix("-").isdecimal()
