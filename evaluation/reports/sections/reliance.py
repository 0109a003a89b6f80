"""Do people follow the model where it is right, and themselves where it is wrong? By system and by rater."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from annotator.hit_types.base import AnsweredTwice
from evaluation.core.estimate import Estimate
from evaluation.metrics.reliance import Reliance, weight_of_advice
from evaluation.metrics.reliance import reliance as measure
from evaluation.reports.columns import OwnAnswers, own_answers
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.words import CountedSentence, count, stated

#: At most so many raters are listed, those with most answers first.
LISTED = 200
#: Field of ``Reliance`` -> its column.
MEASURES = {
    "ai_reliance": "Relative AI reliance",
    "self_reliance": "Relative self-reliance",
    "over_reliance": "Over-reliance",
    "under_reliance": "Under-reliance",
    "switched": "Switched to the model’s answer",
}
ACCURACIES = {
    "alone": "Right before",
    "model": "Model right",
    "together": "Right after",
    "beyond_alone": "After minus before",
    "beyond_model": "After minus model",
    "complementarity": "Beyond the better of the two",
}


@dataclass(frozen=True)
class _Words:
    """What a report says where it depends on what makes an answer right."""

    #: With ``people`` and ``share``: where the model was right, and where it was wrong.
    prose: tuple[str, str]
    case: str
    accuracy_title: str


#: What makes an answer right (``AnsweredTwice.right``) -> words.
WORDS = {
    "gold_label": _Words(
        (
            "Where {people} were wrong at first and the model right, they then got it right in {share}.",
            "Where {people} were right at first and the model wrong, they stayed right in {share}.",
        ),
        "A case is one person’s answers before and after the explanation; the model’s answer is its own answer to the same "
        "question, which the explanation argues for. ",
        "Right answers of people, of the model, and of people with the model, %",
    ),
    "real_output": _Words(
        (
            "Where {people} guessed wrong at first and the model answered the follow-up as it had answered the starter question, "
            "they then predicted it right in {share}.",
            "Where {people} guessed right at first and the model answered otherwise, they stayed right in {share}.",
        ),
        "A case is one person’s first guess and the answer after the explanation; the model’s answer is the answer that the model gave "
        "to the starter question, and the correct answer is what it really answered to the follow-up: the model is right where these "
        "two are the same. ",
        "Right predictions by people alone, by the model’s answer to the starter question, and by people who saw it, %",
    ),
}
OF_RATERS = ("ai_reliance", "self_reliance", "switched", "alone", "together")


@section(order=55, title="Computing reliance on the model")
def reliance(ctx: Context) -> Section | None:
    """Nothing if no answer was given before and after a model's answer that is known."""
    asked = ctx.hit_type.answered_twice()
    if asked is None:
        return None
    answers = own_answers(ctx)
    if not any(output is not None for output in answers.output):
        return None
    everything = list(range(len(answers.rater)))
    systems = {
        "All": everything,
        **{
            name: [row for row in everything if answers.system[row] == name]
            for name in sorted(set(answers.system))
        },
    }
    found = {name: _of(ctx, answers, rows) for name, rows in systems.items()}
    whole, words = found["All"], WORDS[asked.right]
    return Section(
        id="reliance",
        title="Reliance on the model",
        prose=_prose(ctx.people, words, whole),
        blocks=[
            _measures(ctx, answers, systems, found),
            _accuracies(found, words.accuracy_title),
            *([_figure(found)] if any(one.ai_reliance.defined for one in found.values()) else []),
            *([_raters(ctx, answers)] if ctx.named else []),
        ],
        notes=[
            f"{words.case}Relative AI reliance and relative self-reliance are Schemmer et al.’s (2023); "
            "both are 100 % for somebody who follows the model exactly where it is right. Over-reliance: of cases in which the model is "
            "wrong, those that end with its answer. Under-reliance: of cases in which it is right, those that end with another one. "
            "Switched: of first answers that differ from the model’s, those that become it.",
            *_abstained(ctx, asked, answers),
        ],
    )


def _prose(people: str, words: _Words, whole: Reliance) -> list[str]:
    """A sentence for each of the two shares, or why it isn't defined."""
    shares = {"Relative AI reliance": whole.ai_reliance, "Relative self-reliance": whole.self_reliance}
    return [
        CountedSentence(text.format(people=people, share=stated(share, "case", "percent")), share.n)
        if share.defined
        else f"{title} is not defined: {share.reason}."
        for (title, share), text in zip(shares.items(), words.prose, strict=True)
    ]


def _abstained(ctx: Context, asked: AnsweredTwice, answers: OwnAnswers) -> list[str]:
    """A sentence on answers that say nothing about the outcome, for types that offer one."""
    offered = {
        label.replace("_", " ")
        for name in (asked.before, asked.after)
        for label in ctx.data.table(name).variable.abstain
    }
    if not offered:
        return []
    named = " or ".join(f"“{label}”" for label in sorted(offered))
    return [
        f"{named[0]}{named[1:2].upper()}{named[2:]} counts as no answer: left out of all figures are {count(answers.abstained, 'case')} "
        "with it before or after the explanation."
    ]


def _of(ctx: Context, answers: OwnAnswers, rows: list[int]) -> Reliance:
    columns = (answers.before, answers.output, answers.after, answers.gold, answers.instance)
    before, output, after, gold, instance = ([column[row] for row in rows] for column in columns)
    return measure(before, output, after, gold, instance, **ctx.resampling)


def _measures(
    ctx: Context, answers: OwnAnswers, systems: dict[str, list[int]], found: dict[str, Reliance]
) -> Table:
    weights = {name: _weight(ctx, answers, rows) for name, rows in systems.items()}
    shown = any(weight is not None for weight in weights.values())
    rows = []
    for name, one in found.items():
        cells = [Cell.of(getattr(one, key), shape="percent", rule="per_rater") for key in MEASURES]
        weight = weights[name]
        if shown:
            cells.append(Cell.of(weight, rule="per_rater") if weight else Cell(text="not all are numbers"))
        rows.append(TableRow([name], cells))
    more = [TableColumn("Weight of advice")] if shown else []
    return Table(
        id="reliance",
        title="Reliance on the model’s answer, % of cases",
        head=["System"],
        columns=[*(TableColumn(title) for title in MEASURES.values()), *more],
        rows=rows,
        notes=["Weight of advice: 0 for an unchanged number, 1 for the model’s; put between 0 and 1."]
        if shown
        else [],
    )


def _weight(ctx: Context, answers: OwnAnswers, rows: list[int]) -> Estimate | None:
    """The weight of advice of these rows; None if their answers aren't all numbers."""
    columns = (answers.before, answers.output, answers.after)
    if rows and all(answers.before[row] is None for row in rows):
        return None
    try:
        before, advice, after = (
            np.array([math.nan if column[row] is None else float(column[row]) for row in rows])
            for column in columns
        )
    except ValueError:
        return None
    instances = [answers.instance[row] for row in rows]
    return weight_of_advice(before, advice, after, instances, **ctx.resampling)


def _accuracies(found: dict[str, Reliance], heading: str) -> Table:
    return Table(
        id="reliance-accuracy",
        title=heading,
        head=["System"],
        columns=[*(TableColumn(title) for title in ACCURACIES.values()), TableColumn("Cases")],
        rows=[
            TableRow(
                [name],
                [
                    *(Cell.of(getattr(one, key), shape="percent", rule="per_rater") for key in ACCURACIES),
                    Cell.count(one.together.n),
                ],
            )
            for name, one in found.items()
        ],
        notes=[
            "Above 0, people with the model are better than the better of people and model alone (complementarity)."
        ],
    )


def _figure(found: dict[str, Reliance]) -> Figure:
    shown = {key: MEASURES[key] for key in ("ai_reliance", "self_reliance")}
    return Figure(
        id="reliance-systems",
        title="Relative AI reliance and relative self-reliance by system",
        alt="The first two columns of the table of reliance.",
        form="intervals",
        data={
            "x": "% of cases",
            "shape": "percent",
            "domain": [0.0, 1.0],
            "points": [
                {"label": name, "group": title, **getattr(one, key).to_dict()}
                for key, title in shown.items()
                for name, one in found.items()
            ],
        },
    )


def _raters(ctx: Context, answers: OwnAnswers) -> Table:
    by_rater: dict[str, list[int]] = {}
    for row, name in enumerate(answers.rater):
        by_rater.setdefault(name, []).append(row)
    order = sorted(by_rater, key=lambda name: (-len(by_rater[name]), name))
    rows = []
    for name in order[:LISTED]:
        one = _of(ctx, answers, by_rater[name])
        cells = [Cell.of(getattr(one, key), shape="percent", rule="per_rater") for key in OF_RATERS]
        answered = sum(None not in (answers.before[row], answers.after[row]) for row in by_rater[name])
        rows.append(TableRow([name], [*cells, Cell.count(answered)]))
    titles = MEASURES | ACCURACIES
    return Table(
        id="reliance-raters",
        title="Reliance on the model’s answer by rater, %",
        folded=True,
        head=["Rater"],
        columns=[*(TableColumn(titles[key]) for key in OF_RATERS), TableColumn("Cases")],
        rows=rows,
        notes=[f"The {LISTED} of {count(len(order), 'rater')} with most cases."]
        if len(order) > LISTED
        else [],
    )
