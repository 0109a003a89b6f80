"""How hard each question of an exam is, and whether the exam predicts later work."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.selectors.exam import exam_figures, exam_versions_of, raters_quality, relations, spearman
from annotator.services.assignment import assignment_next
from annotator.services.exam import exam_start, exam_submit
from annotator.services.study import study_launch
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.own_exams import NO, YES, own, sit
from tests.factories import make_item, make_participation, make_study


@pytest.mark.django_db
def test_difficulty_and_discrimination_of_each_question() -> None:
    study = make_study(
        items=1,
        exam_required=True,
        exam_own=own(4),
        exam_questions=4,
        pass_mark=1,
        exam_attempts=9,
        launched=True,
    )
    # Columns: questions mine-0 to mine-3; rows: people.
    table = [(1, 1, 1, 1), (1, 1, 1, 0), (1, 1, 0, 1), (1, 0, 0, 1), (1, 0, 0, 0)]
    for row in table:
        person = make_participation(study)
        attempt = exam_start(participation=person)
        right = {f"mine-{n}": YES if one else NO for n, one in enumerate(row)}
        exam_submit(attempt=attempt, answers=right)
    again = exam_start(participation=person)
    exam_submit(attempt=again, answers=dict.fromkeys(again.drawn, YES))
    figures = exam_figures(exam=exam_versions_of(study)[0], study=study)
    assert [(f.n, f.right, f.difficulty) for f in figures] == [
        (5, 5, 1.0),
        (5, 3, 0.6),
        (5, 2, 0.4),
        (5, 3, 0.6),
    ]
    assert figures[0].why == "everyone was right"
    assert figures[0].discrimination != figures[0].discrimination
    for number in (1, 2, 3):
        ones = [row[number] for row in table]
        rests = [(sum(row) - row[number]) / 3 for row in table]
        assert figures[number].discrimination == pytest.approx(pearson(ones, rests))
        assert not figures[number].why
    assert figures[3].look, "the last one does not go with the rest"


def pearson(a: list[Any], b: list[Any]) -> float:
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    top = sum((x - ma) * (y - mb) for x, y in zip(a, b, strict=True))
    return float(top / (sum((x - ma) ** 2 for x in a) * sum((y - mb) ** 2 for y in b)) ** 0.5)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "nobody has answered it yet"), ([(1, 0)], "fewer than 3 people"),
        ([(0, 1)] * 3, "nobody was right"), ([(1, 1), (0, 1), (1, 1)], "everyone had the same share of the other questions right"),
    ],
)  # fmt: skip
def test_undefined_figures_give_the_reason(rows: list[tuple[int, int]], why: str) -> None:
    study = make_study(
        items=1, exam_required=True, exam_own=own(2), exam_questions=2, pass_mark=1, launched=True
    )
    for row in rows:
        attempt = exam_start(participation=make_participation(study))
        exam_submit(attempt=attempt, answers={f"mine-{n}": YES if one else NO for n, one in enumerate(row)})
    first = exam_figures(exam=exam_versions_of(study)[0], study=study)[0]
    assert first.why == why
    assert first.discrimination != first.discrimination


@pytest.mark.django_db
def test_discrimination_is_undefined_for_an_exam_with_one_question() -> None:
    study = make_study(
        items=1, exam_required=True, exam_own=own(1), exam_questions=1, pass_mark=1, launched=True
    )
    for _ in range(3):
        sit(make_participation(study), right=1)
    assert (
        exam_figures(exam=exam_versions_of(study)[0], study=study)[0].why == "the exam has no other questions"
    )


@pytest.mark.django_db
def test_exam_results_are_correlated_with_later_work() -> None:
    study = make_study(exam_required=True, exam_own=own(4), exam_questions=4, pass_mark=1, redundancy=4)
    for n in range(4):
        make_item(study, key=f"g{n}", gold=YES, role="gold")
    study_launch(study=study)
    study.refresh_from_db()
    assert [one.why for one in relations(raters_quality(study=study))] == [
        "nobody who passed the exam has judged anything yet"
    ] * 2
    for score in (4, 3, 2):
        person = make_participation(study)
        sit(person, right=score)
        for done in range(4):
            task = assignment_next(participation=person)
            assert task
            turn_take(
                user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw=YES if done < score else NO
            )
    people = raters_quality(study=study)
    assert [(p.exam, p.judgments, p.gold, p.gold_n) for p in people] == [
        (1.0, 4, 1.0, 4), (0.75, 4, 0.75, 4), (0.5, 4, 0.5, 4)
    ]  # fmt: skip
    gold, alike = relations(people)
    assert (gold.n, gold.rho) == (3, 1.0)
    assert all(0 <= p.alike <= 1 for p in people)
    assert alike.n == 3


def test_spearmans_rho_matches_scipys_with_ties() -> None:
    from scipy.stats import spearmanr

    a, b = [1.0, 2.0, 2.0, 5.0, 4.0], [0.3, 0.3, 0.1, 0.9, 0.2]
    assert spearman(a, b) == pytest.approx(float(spearmanr(a, b).statistic))
