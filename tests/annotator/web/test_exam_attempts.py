"""An exam that is sent twice, answered on an old page, or taken again after its key was shown."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotator.core.allocation import exam_draw
from annotator.models import ExamAttempt, Qualification, Study
from annotator.services.exam import exam_start, exam_submit
from annotator.services.rehearsal.fill import right_answers
from annotator.services.study import study_launch, study_update
from tests.annotator.demo_studies import demo_study
from tests.annotator.services.own_exams import own
from tests.bot import Bot
from tests.factories import make_item, make_participation, make_study, make_user

pytestmark = pytest.mark.django_db


def exam_study(**fields: Any) -> Study:
    return demo_study(
        "simulation", **({"practice_required": False, "consent_text": "", "exam_attempts": 3} | fields)
    )


def form_of(bot: Bot, page: Any, *, right: bool) -> dict[str, Any]:
    """The whole form of the exam, as a browser sends it."""
    attempt = bot.participation.exam_attempts.latest("number")
    answers = right_answers(bot.participation, attempt.drawn)
    if not right:
        answers = {key: bot.wrong(key) for key in answers}
    fields = {
        f"q{n}-{name}": value
        for n, key in enumerate(attempt.drawn, 1)
        for name, value in answers[key].items()
    }
    return fields | {"attempt": bot.form(page, action="/exam/").fields["attempt"]}


@pytest.mark.parametrize("right", [True, False])
def test_submitting_an_exam_again_gives_the_same_result(right: bool) -> None:
    bot = Bot(exam_study())
    page = bot.instructions(bot.join())
    sent = form_of(bot, page, right=right)
    first = bot.post(bot.path + "exam/", sent)
    scores = list(ExamAttempt.objects.values_list("number", "score"))
    second = bot.post(bot.path + "exam/", sent)
    assert second.request["PATH_INFO"] == first.request["PATH_INFO"]
    assert second.request["PATH_INFO"].endswith("/exam/result/")
    assert list(ExamAttempt.objects.values_list("number", "score")) == scores
    assert ExamAttempt.objects.count() == 1


def test_an_old_page_is_not_graded_against_a_newer_attempt() -> None:
    bot = Bot(exam_study())
    page = bot.instructions(bot.join())
    sent = form_of(bot, page, right=False)
    bot.post(bot.path + "exam/", sent)
    bot.get(bot.path + "exam/?again=1")
    bot.post(bot.path + "exam/", sent)
    assert ExamAttempt.objects.get(number=2).submitted_at is None
    for attempt in ("", "x", "999999999", "9" * 40):
        assert bot.post(bot.path + "exam/", sent | {"attempt": attempt}).status_code == 409
    assert ExamAttempt.objects.get(number=2).submitted_at is None


def test_an_attempt_at_a_replaced_exam_is_refused() -> None:
    study = exam_study()
    bot = Bot(study)
    sent = form_of(bot, bot.instructions(bot.join()), right=True)
    study_update(study=study, exam_own=own(24), exam_questions=11, pass_mark=9)
    assert bot.post(bot.path + "exam/", sent).status_code == 409
    assert not Qualification.objects.exists()


def test_the_answer_key_is_shown_after_passing_or_the_last_attempt() -> None:
    study = exam_study(exam_attempts=2)
    for right in (False, True):
        bot = Bot(study)
        bot.client.force_login(make_user())
        page = bot.instructions(bot.join())
        reasons = {question.key: " ".join(question.reason.split()) for question in bot.kind.exam}
        first = bot.exam(page, right=False).content.decode()
        drawn = ExamAttempt.objects.latest("id").drawn
        assert "correct answers and the reasons" in first
        assert not [key for key in drawn if reasons[key] in " ".join(first.split())]
        last = bot.exam(bot.get(bot.path + "exam/?again=1"), right=right)
        assert "correct answers and the reasons" not in last.content.decode()
        assert ("What you got wrong, and why" in last.content.decode()) is not right


def test_guest_accounts_do_not_see_the_answer_key() -> None:
    bot = Bot(exam_study(exam_attempts=1))
    page = bot.exam(bot.instructions(bot.join()), right=False).content.decode()
    assert "You didn't pass" in page or "You didn&#x27;t pass" in page
    assert "What you got wrong, and why" not in page


def test_the_next_attempt_draws_other_questions() -> None:
    study = exam_study(exam_key_early=True)
    participation = make_participation(study)
    drawn = []
    for _ in range(2):
        attempt = exam_start(participation=participation)
        drawn.append(set(attempt.drawn))
        wrong = {key: {"helpful": "no"} for key in attempt.drawn}
        exam_submit(attempt=attempt, answers=wrong)
    assert not drawn[0] & drawn[1]
    other = make_participation(exam_study(slug="another"), participation.rater.user)
    assert len(set(exam_start(participation=other).drawn) & (drawn[0] | drawn[1])) > 0, "all have been seen"


def test_seen_questions_are_drawn_last_and_evenly_from_the_pools() -> None:
    keys = [(f"{pool}{n}", pool) for pool in "ab" for n in range(4)]
    for seed in range(20):
        seen = {"a0", "a1", "b0"}
        drawn = exam_draw(keys, count=4, rng=Random(seed), seen=seen)
        assert not seen & set(drawn)
        assert sum(key.startswith("a") for key in drawn) == 2
        assert len(set(exam_draw(keys, count=7, rng=Random(seed), seen=seen))) == 7


def test_showing_the_key_early_needs_questions_for_a_second_attempt() -> None:
    fields: dict[str, Any] = {"exam_required": True, "exam_questions": 4, "pass_mark": 3, "exam_own": own(7)}
    study = make_study(exam_key_early=True, exam_attempts=2, **fields)
    make_item(study)
    with pytest.raises(ValidationError, match="at least 8"):
        study_launch(study=study)
    study_update(study=study, exam_key_early=False)
    study_launch(study=study)
