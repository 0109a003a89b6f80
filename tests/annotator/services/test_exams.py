"""Exams of a study's own, versions of them, their pay, and who may work: qualifications held, required, taken back."""

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
from annotator.models import ExamAttempt, Participation, Qualification, Study, User
from annotator.selectors.exam import exam_figures, exam_versions_of, raters_quality, relations, spearman
from annotator.selectors.participation import earnings_of, participation_step
from annotator.services.assignment import assignment_next
from annotator.services.exam import exam_start, exam_submit, qualification_grant, qualification_revoke
from annotator.services.participation import participation_join
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_launch, study_update
from annotator.services.submit_and_next import turn_take
from tests.factories import make_item, make_participation, make_study, make_user, simulation_payload

SIMULATION = hit_type_get("simulation")
YES, NO = {"helpful": "yes", "answer": "yes"}, {"helpful": "yes", "answer": "no"}


def own(count: int = 4, *, pool: str = "") -> list[dict[str, Any]]:
    return [
        {"key": f"mine-{pool}{n}", "payload": simulation_payload(f"{pool}{n}"), "gold": YES, "reason": f"Because {n}.", "pool": pool}
        for n in range(count)
    ]  # fmt: skip


# -- reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, kind in hit_types().items() if not kind.external])
def test_every_types_own_questions_can_be_taken_over(name: str) -> None:
    kind = hit_type_get(name)
    for questions in (kind.exam, kind.practice):
        raw = [vars(question) for question in questions]
        assert questions_of_text(kind, json.dumps(raw)) == questions
        assert questions_of_text(kind, "\n".join(json.dumps(one) for one in raw)) == questions


def test_a_question_may_be_given_as_the_row_of_an_import() -> None:
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
def test_a_bad_question_is_named_with_its_field(change: dict[str, Any], where: str, fault: str) -> None:
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


def test_the_guides_example_is_a_question() -> None:
    guide = Path(__file__).resolve().parents[3] / "docs" / "exams.md"
    [block] = re.findall(r"```json\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    [question] = questions_of_text(SIMULATION, f"[{block}]")
    assert question.pool == "rule 1"


# -- of a study ------------------------------------------------------------------------------------------


@pytest.fixture
def study(db: None) -> Study:
    return make_study(
        items=3, exam_required=True, exam_own=own(4), exam_questions=4, pass_mark=3, exam_pay="1.50",
        exam_attempts=2, exam_wait_minutes=10, launched=True,
    )  # fmt: skip


def sit(person: Participation, *, right: int) -> ExamAttempt:
    attempt = exam_start(participation=person)
    answers = {key: YES if n < right else NO for n, key in enumerate(attempt.drawn)}
    return exam_submit(attempt=attempt, answers=answers)


def test_the_studys_own_questions_are_the_exam_and_are_frozen(study: Study) -> None:
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


def test_faulty_questions_are_refused_whole_and_a_live_exam_cannot_become_too_short(study: Study) -> None:
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
def test_draws_take_evenly_from_the_pools_and_differ_between_people() -> None:
    questions = own(6, pool="easy") + own(6, pool="hard")
    study = make_study(
        items=1, exam_required=True, exam_own=questions, exam_questions=6, pass_mark=3, launched=True
    )
    drawn = [exam_start(participation=make_participation(study)).drawn for _ in range(4)]
    assert all(sum("easy" in key for key in those) == 3 for those in drawn)
    assert len({tuple(those) for those in drawn}) == 4


def test_the_wait_between_attempts_and_the_last_of_them(study: Study) -> None:
    person = make_participation(study)
    assert not sit(person, right=2).passed
    with pytest.raises(Refused, match="take the exam again after"):
        exam_start(participation=person)
    ExamAttempt.objects.update(submitted_at=timezone.now() - timedelta(minutes=11))
    assert not sit(person, right=0).passed
    with pytest.raises(Refused, match="used all your attempts"):
        exam_start(participation=person)


def test_a_new_version_of_the_exam_is_sat_by_everybody_with_attempts_of_its_own(study: Study) -> None:
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


def test_the_exam_pays_once_passed_or_not(study: Study) -> None:
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


# -- qualifications --------------------------------------------------------------------------------------


def test_who_loses_the_qualification_gets_no_more_tasks_not_even_by_a_late_answer(study: Study) -> None:
    person = make_participation(study)
    sit(person, right=4)
    task = assignment_next(participation=person)
    assert task
    qualification_revoke(qualification=Qualification.objects.get(), reason="guessing", by=None)
    task.refresh_from_db()
    assert task.state == "expired"
    turn = turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw=YES)
    assert turn.submitted.finished, "what was already answered is kept"
    assert turn.assignment is None
    assert turn.refusal
    assert turn.refusal.kind == "not_qualified"
    assert participation_step(person) == "not_qualified", "and the exam is no way in again"


def test_a_grant_lets_in_again_and_everything_is_kept(study: Study) -> None:
    boss = make_user(staff=True)
    person = make_participation(study)
    sit(person, right=4)
    qualification = Qualification.objects.get()
    for _ in range(2):
        qualification_revoke(qualification=qualification, reason="guessing", by=boss)
    granted = qualification_grant(
        workspace=None, rater=person.rater, hit_type="simulation", by=boss, reason="talked to them"
    )
    qualification_grant(workspace=None, rater=person.rater, hit_type="simulation", by=boss, reason="again")
    assert participation_step(person) == "tasks"
    assert assignment_next(participation=person)
    qualification_revoke(qualification=granted, reason="again", by=boss)
    assert participation_step(person) == "not_qualified"
    qualification_grant(
        workspace=None, rater=person.rater, hit_type="simulation", by=boss, reason="last chance"
    )
    events = [(e.kind, e.by, e.reason) for q in Qualification.objects.order_by("id") for e in q.events.all()]
    assert events == [
        ("passed", None, "4 right"), ("revoked", boss, "guessing"), ("granted", boss, "talked to them"),
        ("revoked", boss, "again"), ("granted", boss, "last chance"),
    ]  # fmt: skip


def test_a_required_qualification_is_needed_to_join_and_to_go_on(study: Study) -> None:
    version = exam_versions_of(study)[0].digest[:8]
    for wanted in ("simulation", f"simulation@{version}"):
        other = make_study(items=1, requires=[wanted], launched=True)
        with pytest.raises(Refused) as refused:
            participation_join(study=other, user=make_user())
        assert refused.value.kind == "needs"
        assert SIMULATION.task_title in str(refused.value)
        insider = make_participation(study)
        sit(insider, right=4)
        person = make_participation(other, insider.rater.user)
        assert participation_step(person) == "tasks"
        task = assignment_next(participation=person)
        assert task
        qualification_revoke(qualification=insider.rater.qualifications.get(), reason="guessing", by=None)
        task.refresh_from_db()
        assert (task.state, participation_step(person)) == ("expired", "needs")
        with pytest.raises(Refused):
            assignment_next(participation=person)


@pytest.mark.django_db
def test_a_requirement_of_another_version_is_not_met_and_of_nothing_is_refused() -> None:
    first = make_study(
        items=1, exam_required=True, exam_own=own(2), exam_questions=2, pass_mark=1, launched=True
    )
    second = make_study(
        items=1, exam_required=True, exam_own=own(3), exam_questions=2, pass_mark=1, launched=True
    )
    person = make_participation(first)
    sit(person, right=2)
    version = exam_versions_of(second)[0].digest[:8]
    third = make_study(items=1, requires=[f"simulation@{version}"], launched=True)
    with pytest.raises(Refused):
        participation_join(study=third, user=person.rater.user)
    for wrong in (
        ["nothing"],
        ["simulation@00000000"],
        ["simulation@"],
        [3],
        "simulation",
        None,
        {},
        ["simulation@" + "\x00" * 8],
        ["\ud800"],
    ):
        with pytest.raises(ValidationError) as refused:
            make_study(requires=wrong)
        assert "requires" in refused.value.message_dict


@pytest.mark.django_db
def test_a_rehearsal_gets_what_the_study_requires() -> None:
    study = make_study(requires=["utility"])
    make_item(study, gold=YES)
    study_launch(study=study)
    study.refresh_from_db()
    raters = rehearsal_raters(study=study, count=2, accuracy=1, spread=0, seed=1)
    assert rehearse(study=study, raters=raters, seed=1) == 2


# -- how an exam fares -----------------------------------------------------------------------------------


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
    assert figures[0].why == "everybody was right"
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
        ([(0, 1)] * 3, "nobody was right"), ([(1, 1), (0, 1), (1, 1)], "everybody had the same share of the rest right"),
    ],
)  # fmt: skip
def test_what_is_not_defined_says_why(rows: list[tuple[int, int]], why: str) -> None:
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
def test_an_exam_of_one_question_has_no_rest() -> None:
    study = make_study(
        items=1, exam_required=True, exam_own=own(1), exam_questions=1, pass_mark=1, launched=True
    )
    for _ in range(3):
        sit(make_participation(study), right=1)
    assert (
        exam_figures(exam=exam_versions_of(study)[0], study=study)[0].why == "the exam has no other questions"
    )


@pytest.mark.django_db
def test_exam_results_are_held_against_later_work() -> None:
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


def test_spearman_with_ties_is_pearson_of_the_mean_ranks() -> None:
    from scipy.stats import spearmanr

    a, b = [1.0, 2.0, 2.0, 5.0, 4.0], [0.3, 0.3, 0.1, 0.9, 0.2]
    assert spearman(a, b) == pytest.approx(float(spearmanr(a, b).statistic))


@pytest.mark.django_db
def test_broken_instructions_of_a_lab_are_refused_at_the_save() -> None:
    text = '## Your task\n\n```example\n{"payload": {}, "response": {}, "reasoning": "x"}\n```\n'
    with pytest.raises(ValidationError) as refused:
        make_study(instructions_text=text)
    assert "worked example 1" in refused.value.message_dict["instructions_text"][0]


def test_a_user_without_a_name_may_not_be_made_for_nothing(study: Study, client: Any) -> None:
    other = make_study(items=1, requires=["utility"], launched=True)
    before = User.objects.count()
    page = client.post(f"/join/{other.join_token}/")
    assert "This study requires another exam first" in page.content.decode()
    assert User.objects.count() == before
