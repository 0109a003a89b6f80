"""P3 A.6.2: how many generalization questions were written, and how many their validators accept."""

from __future__ import annotations

import math

from evaluation.ratings.validation import CRITERIA, MajorityVerdict, Validators, verdicts_of
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import count

#: Why a kind has no count of correctly answered questions.
NOT_ASKED_OF = "the answer follows from the original question’s, so nobody was asked about it"
TITLES = {"relation": "Of their kind", "answerable": "Answerable", "answer_right": "Correctly answered"}


@section(order=45, title="P3: questions that pass validation", measure="question_validity")
def p3_questions(ctx: Context) -> Section | None:
    """Counts by kind of question: written, accepted on each criterion, accepted on all."""
    judgments = ctx.data.judgments
    blocks = []
    kinds: list[tuple[Validators, bool]] = [
        ("people", bool((~judgments.raters.is_simulator).any())),
        ("simulators", bool(judgments.raters.is_simulator.any())),
    ]
    for by, there in kinds:
        if there:
            blocks.append(
                _table(by, verdicts_of(judgments, by=by), ctx.people if by == "people" else "simulators")
            )
    if not blocks:
        return None
    return Section(
        id="p3-questions",
        number="P3 A.6.2",
        title="Questions that pass validation",
        blocks=blocks,
        notes=[
            "A question passes a criterion if more than half of its validators say yes. Questions that pass all criteria go "
            "on to the study and to GEN-U. Whether the answer is right is asked of similar reasoning alone: a rephrase has the original’s "
            "answer, a counterfactual the opposite one. The paper had three validators and gives no number of questions dropped."
        ],
    )


def _passed(verdicts: list[MajorityVerdict], name: str) -> Cell:
    asked = [v for v in verdicts if v.answer_asked or name != "answer_right"]
    if not asked:
        return Cell.number(math.nan, reason=NOT_ASKED_OF, shape="count")
    return Cell.count(sum(getattr(v, name) for v in asked))


def _table(by: str, verdicts: list[MajorityVerdict], who: str) -> Table:
    kinds = sorted({verdict.kind for verdict in verdicts})
    rows = [(kind.replace("_", " ").capitalize(), [v for v in verdicts if v.kind == kind]) for kind in kinds]
    return Table(
        id=f"p3-questions-{by}",
        number="P3 A.6.2",
        title=f"Generalization questions validated by {who}",
        head=["Kind"],
        columns=[
            TableColumn("Written"),
            *(TableColumn(TITLES[name]) for name in CRITERIA),
            TableColumn("Accepted"),
            TableColumn("Without a validator"),
        ],
        rows=[
            TableRow(
                [title],
                [
                    Cell.count(len(found)),
                    *(_passed(found, name) for name in CRITERIA),
                    Cell.count(sum(v.accepted for v in found)),
                    Cell.count(sum(not v.raters for v in found)),
                ],
            )
            for title, found in [*rows, ("All", verdicts)]
        ],
        notes=[f"{count(len(verdicts), 'question')} in all."],
    )
