"""What venues ask about studies with people (P3 Table 17 among it), and what the study cost."""

from __future__ import annotations

from decimal import Decimal
from hashlib import sha256

from evaluation.core.estimate import Estimate, undefined
from evaluation.reports.content import Cell, Column, Row, Section, Table
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import count, estimate, listed
from evaluation.selectors.human_subjects import Cost, HumanSubjects, human_subjects

NOT_TIMED = "no judgment was timed in the browser"


@section(order=15, title="Counting people, time and cost")
def people(ctx: Context) -> Section:
    """Raters, consent, instructions, exam, time, pay and agreement; then costs by kind."""
    found = human_subjects(study=ctx.study)
    return Section(
        id="conduct",
        title="Raters, time and cost",
        prose=[_sentence(ctx, found)],
        blocks=[_work(ctx, found), _protocol(ctx, found), _costs(found)],
        notes=[
            "Time runs from the first sight of an item to its submission. Raters and costs are counted when the report is "
            "computed, whatever is excluded, and are not among the inputs that the hash is taken of."
        ],
    )


def _sentence(ctx: Context, found: HumanSubjects) -> str:
    agreed = ctx.agreement(ctx.headline.name).alpha
    one, many = ("person", "people") if ctx.people == "people" else ("rehearsal rater", "rehearsal raters")
    said = f"{count(_raters(ctx, found), one, many)} judged items"
    if found.joined:
        said += f", of {found.joined:,} who joined; {count(found.consents, 'consent')} {'is' if found.consents == 1 else 'are'} on file"
    else:
        said += "; none of it was done in the browser under this study’s own rules"
    item = [f"took {found.mean_seconds:.1f} s on average"] if found.mean_seconds is not None else []
    if ctx.study.pay_per_item:
        item.append(f"was paid {_money(ctx.study.pay_per_item)} {ctx.study.currency}")
    if item:
        said += f". An item {listed(item)}"
    return f"{said}. Krippendorff’s α of “{ctx.headline.title}” is {estimate(agreed)}."


def _raters(ctx: Context, found: HumanSubjects) -> int:
    return found.rehearsal if ctx.data.judgments.rehearsal else found.people


def _money(amount: Decimal) -> str:
    """An amount with two decimals, more where it needs them.

    >>> _money(Decimal("0.5000")), _money(Decimal("0.0125"))
    ('0.50', '0.0125')
    """
    text = f"{amount:.4f}".rstrip("0")
    whole, _, rest = text.partition(".")
    return f"{whole}.{rest.ljust(2, '0')}"


def _work(ctx: Context, found: HumanSubjects) -> Table:
    """One row a study in the layout of P3 Table 17."""

    def timed(value: float | None) -> Cell:
        return Cell.of(Estimate(value, n=found.timed) if value is not None else undefined(NOT_TIMED))

    hourly = undefined(NOT_TIMED if ctx.study.pay_per_item else "items are not paid")
    return Table(
        id="p3-table-17",
        number="P3 Table 17",
        title="Annotators and time",
        head=["Task"],
        columns=[
            Column("Annotators"),
            Column("Average time (s)"),
            Column("Median time (s)"),
            Column(f"Pay per item ({ctx.study.currency})"),
            Column(f"Pay per hour on the median ({ctx.study.currency})"),
        ],
        rows=[
            Row(
                [ctx.hit_type.title],
                [
                    Cell.count(_raters(ctx, found)),
                    timed(found.mean_seconds),
                    timed(found.median_seconds),
                    Cell.number(float(ctx.study.pay_per_item)),
                    Cell.of(
                        hourly if found.pay_per_hour is None else Estimate(found.pay_per_hour, n=found.timed)
                    ),
                ],
            )
        ],
    )


def _protocol(ctx: Context, found: HumanSubjects) -> Table:
    study = ctx.study
    versions = [
        f"version {number} ({digest[:12]}), instructions {sha256(text.encode()).hexdigest()[:12]}"
        for number, digest, text in found.versions
    ]
    exam = (
        f"{study.pass_mark} of {study.exam_questions} right, {study.exam_attempts} attempts; "
        f"{found.exams_passed:,} of {found.exams_taken:,} who took it passed"
        if study.exam_required
        else "none"
    )
    consent = (
        f"{found.consents:,} given, {found.withdrawn:,} withdrawn; text "
        + ", ".join(digest[:12] for digest in found.consent_texts)
        if found.consent_texts
        else "no consent on file" + ("" if study.consent_text else "; the study has no consent text")
    )
    facts = {
        "Instructions": "; ".join(versions)
        or f"{ctx.hit_type.title}, version {ctx.hit_type.version}; no judgment was made in the browser",
        "Consent": consent,
        "Qualification exam": exam,
        "Practice": "required" if study.practice_required else "not required",
        "Raters asked for each item": str(study.redundancy),
        "Joined, finished, left": f"{found.joined:,}, {found.finished:,}, {found.left:,}",
    }
    return Table(
        id="conduct-protocol",
        title="How raters were asked",
        head=["What"],
        columns=[Column("In this study")],
        rows=[Row([name], [Cell(value)]) for name, value in facts.items()],
        notes=["Versions and texts are told apart by the first figures of their SHA-256."],
    )


def _costs(found: HumanSubjects) -> Table:
    def row(cost: Cost) -> Row:
        name = (
            f"{cost.what}, {cost.currency}" if cost.currency else f"{cost.what}, in the endpoint’s currency"
        )
        return Row([name], [Cell.number(float(cost.amount)), Cell(cost.of)])

    return Table(
        id="conduct-costs",
        title="Costs",
        head=["For"],
        columns=[Column("Amount"), Column("Of")],
        rows=[row(cost) for cost in found.costs],
        notes=["Model calls: this study’s simulators, and the runs that made its material."],
    )
