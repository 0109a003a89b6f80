"""Pools that an exam asks so rarely that they don't decide who passes."""

from __future__ import annotations

from annotator.core.allocation import pool_counts
from annotator.models import Study
from annotator.selectors.study import declared_hit_type, study_hit_type


def exam_warnings(study: Study) -> list[str]:
    """Warnings for the launch: a pool whose questions somebody who passes may all answer wrongly.

    Built-in types have a few such pools by design, of ordinary questions that test no rule of their own. Only those that would be asked
    often enough with the type's own numbers are named; a test holds that these suffice for each rule.
    """
    if not study.exam_required:
        return []
    pools = [question.pool for question in study_hit_type(study).exam]
    wrong = study.exam_questions - study.pass_mark
    found = _undecided(pools, asked=study.exam_questions, wrong=wrong)
    if found and not study.exam_own and not study.declaration_id:
        usual = declared_hit_type(study).with_arms(study.control_arms).defaults
        by_design = _undecided(
            pools, asked=usual.exam_questions, wrong=usual.exam_questions - usual.pass_mark
        )
        found = {pool: asked for pool, asked in found.items() if pool not in by_design}
    return [
        f"Somebody who answers every question of the pool “{pool}” wrongly can pass: the exam asks {_asked_words(asked, wrong)}"
        for pool, asked in found.items()
    ]


def _asked_words(asked: int, wrong: int) -> str:
    if asked == 0:
        return "none of them. Ask more questions."
    answers = "answer" if wrong == 1 else "answers"
    return f"{asked} of them, and {wrong} {answers} may be wrong. Ask more questions or raise the pass mark."


def _undecided(pools: list[str], *, asked: int, wrong: int) -> dict[str, int]:
    """The named pools with no more questions in an attempt than may be answered wrongly, and how many these are."""
    if asked > len(pools):
        return {}
    return {pool: n for pool, n in pool_counts(pools, count=asked).items() if pool and n <= wrong}
