"""Every HIT type from the invitation to the completion page in a real browser, with keys only."""

from __future__ import annotations

from random import Random

import pytest
from playwright.sync_api import Page, expect

from annotator.hit_types.registry import hit_type_get
from annotator.models import Assignment, Judgment, Study
from annotator.selectors.study import study_hit_type
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.services.rehearsal.fill import right_answers
from tests.annotator.demo_studies import TYPES, demo_study
from tests.bot import practice_stages
from tests.e2e import keyboard

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ITEMS = 3
TEXT_QUESTION = "news-one-missing"


def press_through(page: Page, study: Study) -> None:
    """Invitation, consent and instructions: Tab to the button, Enter."""
    page.keyboard.press("Tab")
    for _ in range(20):  # folded examples come before the button
        text = page.evaluate("() => document.activeElement.innerText || ''")
        if text.strip() in ("Start", "I want to take part", "Continue"):
            break
        page.keyboard.press("Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")


def practise(page: Page, study: Study) -> None:
    kind = study_hit_type(study)
    for question in kind.practice:
        wanted = {}
        for stage in practice_stages(kind, question):
            wanted |= rehearsal_answer(
                stage, gold=question.gold, item_key=question.key, accuracy=1.0, rng=Random(1)
            )
            keyboard.wait_ready(page)
            expect(page.locator("h1")).to_have_text(stage.title)
            keyboard.answer(page, wanted)
            keyboard.submit(page)
        expect(page.locator("h1")).to_have_text("Correct")
        with page.expect_navigation():
            page.keyboard.press("Enter")


def sit_exam(page: Page, study: Study) -> None:
    attempt = study.participations.get().exam_attempts.latest("number")
    if TEXT_QUESTION in attempt.exam.questions.values_list("key", flat=True):
        # The drawn questions depend on the rater's id. A text question comes first, so that every run goes from a
        # text field to the keys of the next question.
        others = [key for key in attempt.drawn if key != TEXT_QUESTION]
        attempt.drawn = [TEXT_QUESTION, *others][: len(attempt.drawn)]
        attempt.save()
        page.reload()
    answers = right_answers(study.participations.select_related("study").get(), attempt.drawn)
    wanted = {f"q{n}-{name}": v for n, key in enumerate(attempt.drawn, 1) for name, v in answers[key].items()}
    keyboard.wait_ready(page)
    keyboard.answer(page, wanted, most=400)
    with page.expect_navigation():
        keyboard.submit(page)
    expect(page.locator("h1")).to_have_text("You passed")


def work(page: Page, study: Study) -> None:
    kind = hit_type_get(study.hit_type)
    rng = Random(2)
    while "/task/" in page.url:
        keyboard.wait_ready(page)
        assignment = Assignment.objects.select_related("item").get(state="leased")
        stage = kind.stages(assignment.item.payload, assignment.presentation)[assignment.stage]
        expect(page.locator("form[data-task]")).to_have_attribute("data-task", str(assignment.pk))
        wanted = rehearsal_answer(
            stage, gold=assignment.item.gold, item_key=assignment.item.key, accuracy=1, rng=rng
        )
        keyboard.answer(page, wanted)
        marker = f"{assignment.pk}:{assignment.stage}"
        keyboard.submit(page)
        page.wait_for_function(
            """marker => { const form = document.querySelector('form[data-task]');
            return !form || `${form.dataset.task}:${form.dataset.stage}` !== marker; }""",
            arg=marker,
        )
        page.wait_for_load_state()


@pytest.mark.parametrize("name", TYPES)
def test_a_whole_study_with_the_keyboard_only(page: Page, live_server, name: str):
    study = demo_study(name)
    extra = study.items.count() - ITEMS
    if extra > 0:
        study.max_items_per_rater = ITEMS
        study.save()
    page.goto(f"{live_server.url}/join/{study.join_token}/")
    for step in ("consent", "instructions", "practice"):
        press_through(page, study)
        assert f"/{step}/" in page.url
    practise(page, study)
    assert "/exam/" in page.url
    sit_exam(page, study)
    page.keyboard.press("Tab")
    page.goto(f"{live_server.url}/study/{study.slug}/")
    work(page, study)
    expect(page.locator("h1")).to_have_text("You're done. Thank you.")
    expect(page.locator(".code")).to_have_text("C0DE-77")
    assert Judgment.objects.filter(study=study, standing="counted").count() == ITEMS
