"""What the intervals of utility are about: the arguments of ``utility_by_system`` for these items and for raters like these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from evaluation.agreement import Single, parse_rule
from evaluation.agreement.new_raters import RaterVariance
from evaluation.metrics.utility_over_raters import FIGURES, utility_over_raters
from evaluation.reports.columns import Labelled, OwnAnswers, own_answers
from evaluation.reports.context import Context
from evaluation.reports.estimands import not_generalised, unjudged_share


class UtilityEstimands(TypedDict):
    """Shares of unjudged rationales and variances over raters, by system and for ``"all"``; None where they aren't asked for."""

    unjudged: dict[str, float] | None
    new_raters: dict[str, dict[str, RaterVariance]] | None


def utility_estimands(ctx: Context, rows: Labelled) -> UtilityEstimands:
    """The arguments for the labels of ``rows``. Those of a single rater stay for these raters."""
    systems = sorted(set(rows.system))
    shares = {name: utility_unjudged(ctx, "" if name == "all" else name) for name in [*systems, "all"]}
    unjudged = {name: share for name, share in shares.items() if share is not None}
    others = None
    if ctx.new_raters and ctx.choices.replicates and not isinstance(parse_rule(rows.rule), Single):
        answers = own_answers(ctx)
        others = {}
        for name in [*systems, "all"]:
            kept = [n for n, system in enumerate(answers.system) if name in ("all", system)]
            others[name] = (
                answers_over_raters(answers, kept)
                if _by_majority(ctx, rows)
                else _refused(answers, kept, rows.rule)
            )
    return {"unjudged": unjudged or None, "new_raters": others}


def utility_unjudged(ctx: Context, system: str = "") -> float | None:
    """The greater of the shares of missing ratings before and after the rationale; None unless intervals are for these items."""
    shares = [unjudged_share(ctx, variable, system=system) for variable in ("before", "after")]
    return max((share for share in shares if share is not None), default=None)


def answers_over_raters(
    answers: OwnAnswers, kept: Sequence[int], *, single: bool = False
) -> dict[str, RaterVariance]:
    """``utility_over_raters`` of some of the answers."""
    return utility_over_raters(
        [answers.before[n] for n in kept],
        [answers.after[n] for n in kept],
        [answers.gold[n] for n in kept],
        [str(answers.item[n]) for n in kept],
        [answers.instance[n] for n in kept],
        [answers.rater[n] for n in kept],
        single=single,
    )


def _by_majority(ctx: Context, rows: Labelled) -> bool:
    """Whether the labels are those of most raters on both questions, and no adjudicator's."""
    rules = {ctx.combining(name, ctx.rule_for(name, rows.rule)).name for name in ("before", "after")}
    return rules == {"majority"}


def _refused(answers: OwnAnswers, kept: Sequence[int], rule: str) -> dict[str, RaterVariance]:
    raters = len({answers.rater[n] for n in kept})
    return dict.fromkeys(FIGURES, not_generalised(rule, raters))
