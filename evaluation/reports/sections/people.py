"""What venues ask about studies with people (including P3 Table 17), and what the study cost."""

from __future__ import annotations

from hashlib import sha256

from annotator.core.words import money
from annotator.selectors.conduct import Conduct, GroupWork
from evaluation.core.estimate import Estimate, undefined
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import count, listed, stated
from evaluation.selectors.human_subjects import Cost, HumanSubjects, human_subjects

NOT_TIMED = "no judgment was timed in the browser"


@section(order=15, title="Counting people, time and cost")
def people(ctx: Context) -> Section:
    """Raters, consent, instructions, exam, time, pay and agreement; then costs by kind."""
    found = human_subjects(study=ctx.study)
    return Section(
        id="conduct",
        title="Raters, time and cost",
        prose=[_sentence(ctx, found.conduct)],
        blocks=[_work(ctx, found.conduct), _protocol(ctx, found), _costs(found)],
        notes=[
            "Participants worked in the browser under this study’s rules. Consent, exams, pay and costs are theirs alone; "
            "rehearsal raters are synthetic, and imported raters worked elsewhere.",
            "Time runs from when an item is first shown to its submission. This section counts all work as it was when the "
            "report was computed, whatever is excluded. Its figures are not part of the inputs’ hash.",
            *(
                f"The server of {name} returned {n} fingerprints: it may have run several versions of the model."
                for name, n in found.fingerprints.items()
            ),
        ],
    )


def _sentence(ctx: Context, found: Conduct) -> str:
    agreed = ctx.agreement(ctx.headline.name).alpha
    done = found.participants
    if found.joined or done.raters:
        said = f"{count(found.joined, 'participant')} joined and {count(done.raters, 'participant')} judged items"
        said += f"; {count(found.consents, 'consent is', 'consents are')} on file" if found.joined else ""
    else:
        said = "No participant worked in the browser under this study’s rules"
    others = [
        count(group.raters, f"{name} rater")
        for name, group in (("imported", found.imported), ("rehearsal", found.rehearsal))
        if group.raters
    ]
    said += f". {listed(others)} judged items as well" if others and done.raters else ""
    said += f". {listed(others)} judged items" if others and not done.raters else ""
    item = [f"took {done.mean_seconds:.1f} s on average"] if done.mean_seconds is not None else []
    if ctx.study.pay_per_item and done.raters:
        item.append(f"was paid {money(ctx.study.pay_per_item)} {ctx.study.currency}")
    if item:
        said += f". An item {listed(item)}"
    if ctx.only_simulators:
        return f"{said}. Only simulators judged items."
    return f"{said}. Krippendorff’s α of “{ctx.headline.title}” is {stated(agreed, 'rating')}."


def _work(ctx: Context, found: Conduct) -> Table:
    """One row per study in the layout of P3 Table 17; rehearsal and imported raters have separate rows."""
    groups = [
        ("Participants", found.participants),
        ("Imported raters", found.imported),
        ("Rehearsal raters", found.rehearsal),
    ]
    shown = [(name, group) for name, group in groups if group.judgments] or groups[:1]
    return Table(
        id="p3-table-17",
        number="P3 Table 17",
        title="Annotators and time",
        head=["Task", "Annotators are"],
        columns=[
            TableColumn("Annotators"),
            TableColumn("Average time (s)"),
            TableColumn("Median time (s)"),
            TableColumn(f"Pay per item ({ctx.study.currency})"),
            TableColumn(f"Pay per hour on the median ({ctx.study.currency})"),
        ],
        rows=[_group_row(ctx, name, group, found.pay_per_hour) for name, group in shown],
    )


def _group_row(ctx: Context, name: str, group: GroupWork, pay_per_hour: float | None) -> TableRow:
    def timed(value: float | None) -> Cell:
        return Cell.of(undefined(NOT_TIMED) if value is None else Estimate(value, n=group.timed))

    if name == "Participants":
        item = Cell.number(float(ctx.study.pay_per_item))
        why = NOT_TIMED if ctx.study.pay_per_item else "items are not paid"
        hour = undefined(why) if pay_per_hour is None else Estimate(pay_per_hour, n=group.timed)
    else:
        hour = undefined(f"{name.lower()} are not paid here")
        item = Cell.of(hour)
    return TableRow(
        [ctx.hit_type.title, name],
        [
            Cell.count(group.raters),
            timed(group.mean_seconds),
            timed(group.median_seconds),
            item,
            Cell.of(hour, shape="money"),
        ],
    )


def _protocol(ctx: Context, found: HumanSubjects) -> Table:
    study, conduct = ctx.study, found.conduct
    versions = [
        f"version {version.number} ({version.digest[:12]}), instructions {sha256(version.instructions.encode()).hexdigest()[:12]}"
        for version in found.versions
    ]
    exam = (
        f"{study.pass_mark} of {study.exam_questions} correct to pass, {count(study.exam_attempts, 'attempt')}; "
        f"{conduct.exams_passed:,} of {count(conduct.exams_taken, 'participant')} passed"
        if study.exam_required
        else "none"
    )
    consent = (
        f"{conduct.consents:,} given, {conduct.withdrawn:,} withdrawn; text "
        + ", ".join(digest[:12] for digest in conduct.consent_digests)
        if conduct.consent_digests
        else "no consent on file" + ("" if study.consent_text else "; the study has no consent text")
    )
    facts = {
        "Instructions": "; ".join(versions)
        or f"{ctx.hit_type.title}, version {ctx.hit_type.version}; no participant has judged an item",
        "Consent": consent,
        "Qualification exam": exam,
        "Practice": "required" if study.practice_required else "not required",
        "Raters per item": study.raters_words,
        "Joined, finished, left": f"{conduct.joined:,}, {conduct.finished:,}, {conduct.left:,}",
    }
    return Table(
        id="conduct-protocol",
        title="How participants were asked",
        head=["Step"],
        columns=[TableColumn("In this study")],
        rows=[TableRow([name], [Cell(value)]) for name, value in facts.items()],
        notes=["Versions and texts are identified by the first characters of their SHA-256."],
    )


def _costs(found: HumanSubjects) -> Table:
    def row(cost: Cost) -> TableRow:
        currency = cost.currency or "in the endpoint’s currency"
        return TableRow(
            [f"{cost.purpose}, {currency}"],
            [Cell.number(float(cost.amount), shape="money"), Cell(cost.basis)],
        )

    return Table(
        id="conduct-costs",
        title="Costs",
        head=["For"],
        columns=[TableColumn("Amount"), TableColumn("Basis")],
        rows=[row(cost) for cost in found.costs],
        notes=["Model calls: this study’s simulators, and the runs that made its material."],
    )
