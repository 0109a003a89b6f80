"""A study's own exams: their questions, versions, attempts and pay."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from annotator.core.errors import Refused
from annotator.hit_types.base import FieldErrors
from annotator.hit_types.questions import questions_of_text, read_questions
from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import ExamAttempt, Participation, Study
from annotator.selectors.exam import exam_versions_of
from annotator.selectors.participation import earnings_of, participation_step
from annotator.services.exam import exam_start
from annotator.services.study import study_launch, study_update
from tests.annotator.services.own_exams import YES, make_exam_study, own, sit
from tests.factories import make_participation, make_study, simulation_payload

SIMULATION = hit_type_get("simulation")


# -- reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, kind in hit_types().items() if not kind.external])
def test_every_types_own_questions_can_be_used_as_the_studys(name: str) -> None:
    kind = hit_type_get(name)
    for questions in (kind.exam, kind.practice):
        raw = [vars(question) for question in questions]
        assert questions_of_text(kind, json.dumps(raw)) == questions
        assert questions_of_text(kind, "\n".join(json.dumps(one) for one in raw)) == questions


def test_a_question_can_be_given_as_an_import_row() -> None:
    row = simulation_payload() | {"answer": "YES", "system": "robot-a"}
    [question] = read_questions(SIMULATION, [{"key": "a", "row": row, "gold": YES, "reason": "Why."}])
    assert question.payload == simulation_payload()


@pytest.mark.parametrize(
    ("change", "where", "fault"),
    [
        ({"key": ""}, "question 2, key", "is missing"),
        ({"key": "mine-0"}, "question 2 (mine-0), key", "question 1 has the same key"),
        ({"key": "k" * 101}, "question 2 (" + "k" * 60 + "), key", "at most 100 characters"),
        ({"reason": " "}, "question 2 (mine-1), reason", "is missing"),
        ({"reason": 5}, "question 2 (mine-1), reason", "expected text, got int"),
        ({"reason": "a\x00b"}, "question 2 (mine-1), reason", "NUL"),
        ({"pool": ["a"]}, "question 2 (mine-1), pool", "expected text, got list"),
        ({"gold": {}}, "question 2 (mine-1), gold", "is missing"),
        ({"gold": "yes"}, "question 2 (mine-1), gold", "expected a JSON object"),
        ({"gold": {"helpful": "perhaps"}}, "question 2 (mine-1), gold.helpful", "choose one of: no, yes"),
        ({"gold": {"colour": "red"}}, "question 2 (mine-1), gold.colour", "is not asked here"),
        ({"payload": None}, "question 2 (mine-1), payload", "is missing"),
        ({"payload": "x"}, "question 2 (mine-1), payload", "expected an object"),
        ({"payload": {"question": "Q?"}}, "question 2 (mine-1), payload", "'explanation' is missing"),
        ({"payload": simulation_payload() | {"question": 7}}, "question 2 (mine-1), payload", "not text"),
        ({"payload": simulation_payload() | {"question": "\ud800"}}, "question 2 (mine-1), payload", "invalid character"),
        ({"payload": simulation_payload() | {"more": "a\x00"}}, "question 2 (mine-1), payload", "NUL"),
        ({"payload": None, "row": {"question": "Q?"}}, "question 2 (mine-1), row.follow_up", "is missing"),
        ({"score": 1}, "question 2 (mine-1), score", "is not a known name"),
    ],
)  # fmt: skip
def test_the_error_names_the_invalid_question_and_its_field(
    change: dict[str, Any], where: str, fault: str
) -> None:
    questions = own(3)
    questions[1] |= change
    with pytest.raises(FieldErrors) as refused:
        read_questions(SIMULATION, questions)
    assert fault in refused.value.errors[where], refused.value.errors


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "expected a list"), ("[]", "expected a list"), ("{", "line 1"), ("[1]", "expected an object"),
        ('[{"key": "a",}]', "line 1, column"), ("[" * 100_000, "nested too deeply"), ('"a"', "expected an object"),
    ],
)  # fmt: skip
def test_text_without_questions_is_refused(text: str, fault: str) -> None:
    with pytest.raises(FieldErrors, match=fault):
        questions_of_text(SIMULATION, text)


def test_the_example_in_the_guide_is_a_valid_question() -> None:
    guide = Path(__file__).resolve().parents[3] / "docs" / "exams.md"
    [block] = re.findall(r"```json\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    [question] = questions_of_text(SIMULATION, f"[{block}]")
    assert question.pool == "rule 1"


# -- of a study ------------------------------------------------------------------------------------------


@pytest.fixture
def study(db: None) -> Study:
    return make_exam_study()


def test_the_studys_own_questions_form_a_frozen_exam(study: Study) -> None:
    person = make_participation(study)
    attempt = exam_start(participation=person)
    assert {key[:4] for key in attempt.drawn} == {"mine"}
    first = study.snapshot
    changed = study_update(study=study, exam_own=own(5))
    assert changed.snapshot != first
    assert first
    assert first.content["exam"] != changed.snapshot.content["exam"]
    assert attempt.exam.questions.count() == 4, "the earlier version stays as it was"
    same = study_update(study=changed, exam_own=own(4))
    assert same.snapshot == first, "the same content is the same version"


def test_invalid_questions_and_exams_that_become_too_short_are_refused(study: Study) -> None:
    with pytest.raises(ValidationError) as refused:
        study_update(study=study, exam_own=[*own(3), {"key": "bad"}])
    assert any("question 4 (bad), payload" in text for text in refused.value.message_dict["exam_own"])
    with pytest.raises(ValidationError, match="asks 4 questions but has only 3"):
        study_update(study=study, exam_own=own(3))
    study.refresh_from_db()
    assert len(study.exam_own) == 4
    assert exam_versions_of(study)[0].questions.count() == 4


@pytest.mark.django_db
def test_a_study_cannot_launch_with_fewer_questions_than_it_asks() -> None:
    short = make_study(items=1, exam_required=True, exam_own=own(2), exam_questions=4, pass_mark=3)
    with pytest.raises(ValidationError, match="asks 4 questions but has only 2"):
        study_launch(study=short)


@pytest.mark.django_db
def test_questions_are_drawn_evenly_and_differently_for_each_person() -> None:
    questions = own(6, pool="easy") + own(6, pool="hard")
    study = make_study(
        items=1, exam_required=True, exam_own=questions, exam_questions=6, pass_mark=3, launched=True
    )
    drawn = [exam_start(participation=make_participation(study)).drawn for _ in range(4)]
    assert all(sum("easy" in key for key in those) == 3 for those in drawn)
    assert len({tuple(those) for those in drawn}) == 4


def test_attempts_are_limited_and_have_a_waiting_time(study: Study) -> None:
    person = make_participation(study)
    assert not sit(person, right=2).passed
    with pytest.raises(Refused, match="take the exam again after"):
        exam_start(participation=person)
    ExamAttempt.objects.update(submitted_at=timezone.now() - timedelta(minutes=11))
    assert not sit(person, right=0).passed
    with pytest.raises(Refused, match="used all your attempts"):
        exam_start(participation=person)


def test_everybody_takes_a_new_version_of_the_exam_with_new_attempts(study: Study) -> None:
    passed, failed, sitting = (make_participation(study) for _ in range(3))
    assert sit(passed, right=4).passed
    assert participation_step(passed) == "tasks"
    sit(failed, right=0)
    old = exam_start(participation=sitting)
    study_update(study=study, exam_own=own(5))
    for person in (passed, failed, sitting):
        person = Participation.objects.select_related("study").get(pk=person.pk)
        assert participation_step(person) == "exam"
        attempt = exam_start(participation=person)
        assert attempt.exam.questions.count() == 5
        assert attempt.pk != old.pk
    assert not ExamAttempt.objects.filter(pk=old.pk).exists(), "an attempt that was not handed in makes way"
    assert ExamAttempt.objects.filter(participation=failed, submitted_at__isnull=False).count() == 1


def test_the_exam_pays_once_whether_passed_or_not(study: Study) -> None:
    person = make_participation(study)
    sit(person, right=0)
    ExamAttempt.objects.update(submitted_at=timezone.now() - timedelta(minutes=11))
    sit(person, right=4)
    [account] = earnings_of(rater_id=person.rater_id)
    assert (account.exam, account.due) == (Decimal("1.50"), Decimal("1.50"))


@pytest.mark.django_db
def test_an_unpaid_exam_earns_nothing() -> None:
    study = make_study(
        items=1, exam_required=True, exam_own=own(2), exam_questions=2, pass_mark=1, launched=True
    )
    person = make_participation(study)
    sit(person, right=2)
    assert earnings_of(rater_id=person.rater_id)[0].due == 0


@pytest.mark.django_db
def test_invalid_instructions_of_a_study_are_refused() -> None:
    text = '## Your task\n\n```example\n{"payload": {}, "response": {}, "reasoning": "x"}\n```\n'
    with pytest.raises(ValidationError) as refused:
        make_study(instructions_text=text)
    assert "worked example 1" in refused.value.message_dict["instructions_text"][0]
