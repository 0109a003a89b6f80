"""How many questions the exam of a study with control arms asks, and warnings about pools that don't decide who passes."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.hit_types.registry import hit_types
from annotator.models import AuditEntry, Study
from annotator.services.study import exam_faults, launch_warnings, study_create, study_update
from annotator.services.study_copy import study_duplicate
from tests.annotator.services.control_studies import control_study
from tests.annotator.services.own_exams import own, sit
from tests.factories import make_participation, make_user

pytestmark = pytest.mark.django_db
ARMS = {"answer_only_raters": 2, "nothing_raters": 2}
BUILT_IN = [
    pytest.param(name, variant, id=f"{name} {variant}")
    for name, kind in hit_types().items()
    for variant in ("", *kind.variants)
    if not kind.external
]


def draft(hit_type: str = "simulation", **fields: Any) -> Study:
    slug = f"{hit_type}-{Study.objects.count()}".replace("_", "-")
    return study_create(by=None, hit_type=hit_type, slug=slug, title="Exam", **fields)


def numbers(study: Study) -> tuple[int, int]:
    study.refresh_from_db()
    return study.exam_questions, study.pass_mark


# -- numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hit_type", "fields", "expected"),
    [
        ("simulation", {}, (11, 9)),
        ("simulation", {"nothing_raters": 2}, (14, 12)),
        ("simulation", ARMS, (17, 15)),
        ("simulation_preference", {"answer_only_raters": 1}, (14, 12)),
        ("forward_simulation", {"nothing_raters": 2}, (11, 9)),
        ("simulation", ARMS | {"exam_questions": 12, "pass_mark": 10}, (12, 10)),
        ("simulation", ARMS | {"exam_questions": 12}, (12, 9)),
        ("simulation", ARMS | {"pass_mark": 10}, (11, 10)),
        ("simulation", ARMS | {"exam_own": own(12)}, (11, 9)),
    ],
)
def test_a_new_study_asks_three_more_questions_about_each_arm(
    hit_type: str, fields: dict[str, Any], expected: tuple[int, int]
) -> None:
    """Unless the numbers are given, or the exam is the study's own."""
    assert numbers(draft(hit_type, **fields)) == expected


def test_the_exam_of_a_draft_follows_its_arms() -> None:
    study = draft()
    study_update(study=study, nothing_raters=2)
    assert numbers(study) == (14, 12)
    study_update(study=study, answer_only_raters=1, nothing_raters=3)
    assert numbers(study) == (17, 15)
    study_update(study=study, nothing_raters=4)
    assert numbers(study) == (17, 15)
    study_update(study=study, **dict.fromkeys(ARMS, 0))
    assert numbers(study) == (11, 9)
    log = AuditEntry.objects.filter(study=study, action="study.changed").order_by("pk").first()
    assert log is not None
    assert log.before | {"exam_questions": 11, "pass_mark": 9} == log.before
    assert log.after | {"exam_questions": 14, "pass_mark": 12} == log.after


@pytest.mark.parametrize("fields", [{"pass_mark": 10}, {"exam_questions": 12}, {"exam_own": own(12)}])
def test_numbers_that_were_set_stay_when_arms_change(fields: dict[str, Any]) -> None:
    study = draft()
    study_update(study=study, **fields)
    before = numbers(study)
    study_update(study=study, **ARMS)
    assert numbers(study) == before
    other = draft()
    study_update(study=other, **ARMS, **fields)
    assert numbers(other) == before


def test_a_copy_keeps_the_numbers() -> None:
    study = draft(**ARMS, exam_questions=12, pass_mark=10)
    copy = study_duplicate(study=study, by=make_user(), slug="copy", title="Copy", material=False)
    assert numbers(copy) == (12, 10)


def test_two_attempts_have_three_questions_of_each_arm_that_differ() -> None:
    study = control_study(
        instances=2, exam_required=True, exam_questions=17, pass_mark=15, exam_attempts=2, exam_pay=0
    )
    person, seen = make_participation(study), list[str]()
    for _ in range(2):
        attempt = sit(person, right=0)
        pools = dict(attempt.exam.questions.values_list("key", "pool"))
        asked = [key for key in attempt.drawn if pools[key] in ("answer only", "nothing")]
        assert sorted(pools[key] for key in asked) == ["answer only"] * 3 + ["nothing"] * 3
        seen += asked
    assert len(set(seen)) == 12


# -- warnings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hit_type", "variant"), BUILT_IN)
def test_the_exams_that_come_with_types_give_no_warning(hit_type: str, variant: str) -> None:
    kind = hit_types()[hit_type]
    arms = list(kind.control_arms)
    for chosen in ([], *([arm] for arm in arms), arms):
        study = draft(hit_type, variant=variant, **{f"{arm}_raters": 2 for arm in chosen})
        assert exam_faults(study) == []
        assert launch_warnings(study) == []


def test_a_pool_that_does_not_decide_who_passes_gives_a_warning() -> None:
    study = draft(exam_questions=8, pass_mark=6)
    said = launch_warnings(study)
    assert said == [
        f"Somebody who answers every question of the pool “{pool}” wrongly can pass: the exam asks 2 of them, and 2 answers"
        " may be wrong. Ask more questions or raise the pass mark."
        for pool in ("rule 1", "not helpful", "rule 2")
    ]
    assert launch_warnings(study_update(study=study, pass_mark=7)) == []
    study = study_update(study=study, pass_mark=6)
    assert launch_warnings(study) == said
    assert launch_warnings(study_update(study=study, exam_required=False)) == []


def test_the_numbers_of_an_exam_without_arms_give_a_warning_with_arms() -> None:
    said = launch_warnings(draft(**ARMS, exam_questions=11, pass_mark=9))
    assert [text.split("”")[0].split("“")[1] for text in said] == [
        "answer only", "not helpful", "nothing", "rule 1", "rule 2"
    ]  # fmt: skip


def test_pools_of_a_studys_own_exam_are_checked_too() -> None:
    two = own(6, pool="a") + own(6, pool="b")
    assert launch_warnings(draft(exam_own=two, exam_questions=4, pass_mark=3)) == []
    said = launch_warnings(draft(exam_own=two, exam_questions=3, pass_mark=2))
    assert [text[:109] for text in said] == [
        "Somebody who answers every question of the pool “b” wrongly can pass: the exam asks 1 of them, and 1 answer m"
    ]
    [none] = launch_warnings(draft(exam_own=two, exam_questions=1, pass_mark=1))
    assert none.endswith("can pass: the exam asks none of them. Ask more questions.")
    assert launch_warnings(draft(exam_own=own(6), exam_questions=4, pass_mark=1)) == [], "it has no pools"
