"""An agreement summary as JSON, as CSV, and as a table for people."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from evaluation.agreement.accuracy import Accuracy
from evaluation.agreement.by_group import Group
from evaluation.agreement.descriptive import UnitDistributions
from evaluation.agreement.summary import PAIRS, AgreementSummary
from evaluation.core.estimate import Estimate

#: With more pairs than this, the JSON isn't indented and the text shows only some of the pairs.
_MANY_PAIRS = 1_000
_SHOWN_PAIRS = 60
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
    "mean": "mean of the ratings",
    "median": "median of the ratings",
}
_COLUMNS = ("statistic", "a", "b", "value", "low", "high", "n", "reason")


@dataclass(frozen=True, eq=False)
class Beside:
    """What is printed beside the summary: groups by column, and accuracy."""

    groups: Mapping[str, Sequence[Group]] = field(default_factory=dict)
    accuracy: Accuracy | None = None

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.groups:
            found["groups"] = {
                column: {group.name: group.to_dict() for group in groups}
                for column, groups in self.groups.items()
            }
        return found | ({"accuracy": self.accuracy.to_dict()} if self.accuracy else {})


NOTHING = Beside()


def as_json(
    summary: AgreementSummary, settings: Mapping[str, Any] | None = None, beside: Beside = NOTHING
) -> str:
    """The summary's dictionary, what is beside it, and the settings that it was made with."""
    return "".join(json_pieces(summary, settings, beside))


def json_pieces(
    summary: AgreementSummary, settings: Mapping[str, Any] | None = None, beside: Beside = NOTHING
) -> Iterator[str]:
    """The same in pieces: with very many pairs of raters their rows are never all in memory."""
    others = beside.to_dict() | dict(settings or {})
    if len(summary.kappa["nominal"].pairs) <= _MANY_PAIRS:
        yield json.dumps(summary.to_dict() | others, indent=2, allow_nan=False) + "\n"
        return
    rest = json.dumps(summary.to_dict(pairs=False) | others, allow_nan=False)
    for weights, kappa in summary.kappa.items():
        before, _, after = rest.partition(f'"{PAIRS}{weights}"')
        if not after:  # raters without names have no pairs
            break
        yield before + "["
        rows = kappa.iterate_rows()
        first = True
        while chunk := list(islice(rows, _MANY_PAIRS)):
            yield ("" if first else ", ") + json.dumps(chunk, allow_nan=False)[1:-1]
            first = False
        rest = "]" + after
    yield rest + "\n"


def as_csv(
    summary: AgreementSummary, settings: Mapping[str, Any] | None = None, beside: Beside = NOTHING
) -> str:
    """One row per statistic; ``a`` and ``b`` name what it is about (a rater, a pair of raters, a label, a unit, a group).

    Names that a spreadsheet would take for a formula get an apostrophe in front.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    rows = [*_csv_rows(summary, summary.to_dict()), *_csv_beside(beside)]
    for row in rows:
        writer.writerow([_neutral(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()


def _csv_row(statistic: str, found: Mapping[str, Any], a: str = "", b: str = "") -> list[Any]:
    values = (found.get(key) for key in ("value", "low", "high", "n"))
    return [
        statistic,
        a,
        b,
        *("" if value is None else value for value in values),
        found.get("reason", ""),
    ]


def _csv_beside(beside: Beside) -> Iterator[list[Any]]:
    for column, groups in beside.groups.items():
        for group in groups:
            for name, found in group.statistics.items():
                yield _csv_row(f"group:{name}", found.to_dict(), column, group.name)
    if beside.accuracy is not None:
        yield _csv_row("accuracy", beside.accuracy.ratings.to_dict())
        if beside.accuracy.labels is not None:
            yield _csv_row("accuracy_of_labels", beside.accuracy.labels.to_dict())
        for rater, found in beside.accuracy.raters.items():
            yield _csv_row("rater_accuracy", found.to_dict(), rater)


def _csv_rows(summary: AgreementSummary, result: dict[str, Any]) -> Iterator[list[Any]]:
    estimate = _csv_row
    for name in ("raters", "units", "ratings") if summary.named else ("units", "ratings"):
        yield [name, "", "", result[name], "", "", "", ""]
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
            yield [rule, unit, label or "", "", "", "", "", ""]


def units_csv(found: UnitDistributions) -> str:
    """One row a unit: its ratings, entropy in bits, mean where labels are numbers, and the share of each label."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["unit", "ratings", "entropy", "mean", *map(_neutral, found.labels)])
    for row in found.rows():
        shares = [row["labels"].get(label, 0) for label in found.labels]
        mean = "" if row["mean"] is None else row["mean"]
        writer.writerow([_neutral(row["unit"]), row["ratings"], row["entropy"], mean, *shares])
    return out.getvalue()


def _neutral(cell: str) -> str:
    return "'" + cell if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def as_text(
    summary: AgreementSummary, settings: Mapping[str, Any] | None = None, beside: Beside = NOTHING
) -> str:
    """A table for people, wide enough for its names; undefined figures say why."""
    blocks = [_head(summary, settings or {}), _labels(summary), _overall(summary)]
    if summary.named:
        blocks += [_pairs(summary), _raters(summary), _alternative(summary)]
    blocks += [_aggregate(summary), *(_groups(*one) for one in beside.groups.items()), _accuracy(beside)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(summary: AgreementSummary, settings: Mapping[str, Any]) -> str:
    everyone = summary.everyone
    simulators = f" ({len(summary.simulators)} of them simulators)" if summary.simulators else ""
    by = f" by {everyone.raters:,} raters{simulators}" if summary.named else ""
    lines = [f"{everyone.ratings:,} ratings of {summary.units:,} units{by}, {summary.level} labels"]
    lines += [f"left out: {count:,} {reason}" for reason, count in summary.left_out.items()]
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
    rows = [(label, _number(share)) for label, share in shares[:_SHOWN_PAIRS]]
    return _table(("label", "share"), rows) + _more(len(shares))


def _overall(summary: AgreementSummary) -> str:
    everyone, nominal = summary.everyone, summary.kappa["nominal"]
    rows = [
        ("percent agreement", everyone.percent_agreement),
        ("Krippendorff's alpha", everyone.krippendorff_alpha),
        ("Fleiss' kappa", everyone.fleiss_kappa),
        ("Gwet's AC1", everyone.gwet_ac1),
        *((FURTHER[name], found) for name, found in everyone.further.items() if name in FURTHER),
    ]
    for weights, found in summary.kappa.items() if summary.named else ():
        kind = "" if weights == "nominal" else f", {weights}"
        rows += [(f"Cohen's kappa{kind}, mean of pairs", found.mean["all"])]
        rows += [(f"Cohen's kappa{kind}, weighted by units", found.weighted_mean["all"])]
    if summary.people is not None:
        rows += [
            ("people: percent agreement", summary.people.percent_agreement),
            ("people: Krippendorff's alpha", summary.people.krippendorff_alpha),
            ("human-human kappa", nominal.mean["people"]),
        ]
        rows += [(f"human-simulator kappa, {name}", nominal.mean[name]) for name in summary.simulators]
    return _table(
        ("statistic", "value", "low", "high", "n", ""), [(name, *_estimate(found)) for name, found in rows]
    )


def _pairs(summary: AgreementSummary) -> str:
    # Pairs that share units first: with many raters the others would fill the page.
    rows = sorted(summary.kappa["nominal"].rows(), key=lambda row: not row["n"])
    if not rows:
        return ""
    shown = []
    for row in rows[:_SHOWN_PAIRS]:
        note = row["reason"] or ("" if row["averaged"] else "not averaged: too few shared units")
        numbers = (_number(row[key]) for key in ("agreement", "value", "low", "high"))
        shown.append((row["a"], row["b"], f"{row['n']:,}", *numbers, note))
    return _table(("rater", "rater", "n", "agreement", "kappa", "low", "high", ""), shown) + _more(len(rows))


def _raters(summary: AgreementSummary) -> str:
    rest = "other people" if summary.simulators else "other raters"
    rows = []
    for name in summary.raters.raters[:_SHOWN_PAIRS]:
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
        left_out = "".join(f", without {count:,} {reason}" for reason, count in table.left_out.items())
        head = f"one label per unit by {found.rule}: {table.n:,} units{left_out}"
    rows = [(label, _number(share)) for label, share in found.shares.items()][:_SHOWN_PAIRS]
    return head + "\n" + _table(("label", "share"), rows)


#: Statistics of groups in the table for people.
GROUPED = {
    "percent_agreement": "agreement",
    "krippendorff_alpha": "alpha",
    "gwet_ac1": "AC1",
    "cohen_kappa_mean": "mean kappa",
    "mean": "mean",
    "median": "median",
    "accuracy": "accuracy",
    "accuracy_of_labels": "accuracy, labels",
}


def _groups(column: str, groups: Sequence[Group]) -> str:
    names = [name for name in GROUPED if any(name in group.statistics for group in groups)]
    rows = [
        (
            group.name,
            f"{group.ratings:,}",
            f"{group.units:,}",
            f"{group.raters:,}",
            *(_with_interval(group.statistics.get(name)) for name in names),
        )
        for group in groups
    ]
    return _table((column, "ratings", "units", "raters", *(GROUPED[name] for name in names)), rows)


def _with_interval(found: Estimate | None) -> str:
    if found is None or math.isnan(found.value):
        return "-"
    ends = "" if math.isnan(found.low) else f" [{_short(found.low)}, {_short(found.high)}]"
    return f"{_short(found.value)}{ends}"


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1_000 else f"{value:.1e}"


def _accuracy(beside: Beside) -> str:
    if beside.accuracy is None:
        return ""
    rows = [("single ratings", *_estimate(beside.accuracy.ratings))]
    if beside.accuracy.labels is not None:
        rows.append(("one label a unit", *_estimate(beside.accuracy.labels)))
    shown = list(beside.accuracy.raters.items())
    rows += [(name, *_estimate(found)) for name, found in shown[:_SHOWN_PAIRS]]
    return _table(("accuracy against the correct labels", "value", "low", "high", "n", ""), rows) + _more(
        len(shown)
    )


def _estimate(found: Estimate) -> tuple[str, ...]:
    left_out = "; ".join(f"without {count:,} {reason}" for reason, count in found.left_out.items())
    note = f"not defined: {found.reason}" if found.reason else left_out
    return _number(found.value), _number(found.low), _number(found.high), f"{found.n:,}", note


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.4f}"


def _more(count: int) -> str:
    return (
        f"\n... and {count - _SHOWN_PAIRS:,} more (all in --format json or csv)"
        if count > _SHOWN_PAIRS
        else ""
    )


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their cells; those that hold numbers are aligned to the right."""
    lines = [header, *(tuple(map(_one_line, row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    right = [all(_numeric(line[column]) for line in lines[1:]) for column in range(len(header))]
    shown = [
        "  ".join(
            c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([shown[0], "  ".join("-" * width for width in widths if width), *shown[1:]])


def _one_line(cell: str) -> str:
    """A cell without line ends and other characters that move the cursor."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in cell)


def _numeric(cell: str) -> bool:
    return cell == "-" or cell.replace(",", "").replace(".", "").removeprefix("-").isdecimal()
