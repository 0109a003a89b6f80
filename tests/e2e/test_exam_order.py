"""An exam's page follows the answers in order, stays with an answer out of order, and keeps the focus in view."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page

from annotator.hit_types.registry import hit_type_get
from annotator.web.style_gallery.samples import STUDY, Screen
from tests.e2e.task_screens import open_screen, settle

pytestmark = pytest.mark.browser

QUESTIONS = 6
#: A laptop, a phone, and the laptop at a zoom of 200 %.
WINDOWS = {"laptop": (1366, 768), "phone": (390, 844), "zoomed": (683, 384)}
#: Whether an element lies between the header and the exam's bar.
IN_VIEW = """one => {
    const box = one.getBoundingClientRect();
    const panel = document.querySelector('[data-panel]');
    const docked = getComputedStyle(panel).position === 'sticky';
    const bottom = docked ? panel.getBoundingClientRect().top : innerHeight;
    return box.top >= document.querySelector('.top').getBoundingClientRect().bottom - 2 && box.bottom <= bottom + 2;
}"""
FOCUS_IN_VIEW = f"() => ({IN_VIEW})(document.activeElement.closest('.option'))"
#: The number of the question that is marked as current.
CURRENT = "() => +document.querySelector('[data-current]').closest('.quiz').id.split('-')[1]"


@pytest.fixture(params=WINDOWS)
def exam(request: pytest.FixtureRequest, style: str, page: Page, monkeypatch: pytest.MonkeyPatch) -> Page:
    kind = hit_type_get("simulation_choice")
    questions: list[dict[str, Any]] = []
    for number, one in enumerate(kind.exam[:QUESTIONS], 1):
        stage = kind.question_stage(one.payload, one.gold)
        questions.append(
            {"number": number, "prefix": f"q{number}-", "stage": stage, "response": {}, "errors": {}}
        )
    context = {
        "study": STUDY, "attempt": SimpleNamespace(pk=1), "questions": questions, "count": QUESTIONS, "pass_mark": 1,
        "attempts_left": 0, "submit_url": "", "instructions_url": "",
    }  # fmt: skip
    screen = Screen("in-view", "In view", "annotator/exam.html", context)
    monkeypatch.setattr("annotator.web.style_gallery.views.screens", lambda: [screen])
    width, height = WINDOWS[request.param]
    page.set_viewport_size({"width": width, "height": height})
    open_screen(style, page)
    return page


def options(page: Page, number: int, field: str) -> Any:
    return page.locator(f"[name=q{number}-{field}]")


def test_an_answer_out_of_order_leaves_the_page_where_it_is(exam: Page) -> None:
    first = options(exam, 4, "helpful").locator("xpath=..").last
    first.scroll_into_view_if_needed()
    exam.evaluate("scrollBy(0, 120)")
    first.click()
    settle(exam)
    before = exam.evaluate("scrollY")
    step = options(exam, 4, "answer").first.locator("xpath=ancestor::fieldset")
    assert step.locator("legend").evaluate(IN_VIEW), "the second step isn't in view"
    last = options(exam, 4, "answer").locator("xpath=..").last
    last.click()
    settle(exam)
    assert abs(exam.evaluate("scrollY") - before) < exam.viewport_size["height"]  # type: ignore[index]
    assert last.evaluate(IN_VIEW), "the page has gone to another question"
    assert exam.evaluate(CURRENT) == 1


def test_the_page_moves_on_from_the_open_question_to_the_next(exam: Page) -> None:
    for number in range(1, QUESTIONS + 1):
        assert exam.evaluate(CURRENT) == number
        one = options(exam, number, "helpful").first  # "no": there is no second step
        exam.keyboard.press(one.get_attribute("data-key") or "")
        settle(exam)
        assert exam.evaluate(FOCUS_IN_VIEW), f"after question {number}"
        if number < QUESTIONS:
            title = exam.locator(f"#question-{number + 1}-title")
            asked = options(exam, number + 1, "helpful").first.locator("xpath=..")
            assert title.evaluate(IN_VIEW) or asked.evaluate(IN_VIEW), f"question {number + 1} isn't in view"


@pytest.mark.parametrize("key", ["Space", "ArrowDown"])
def test_the_focus_stays_in_view_with_every_key(exam: Page, key: str) -> None:
    for number in (1, 3, 2):
        options(exam, number, "helpful").first.focus()
        for press in (key, "ArrowDown", "ArrowDown", "ArrowUp"):
            at = exam.evaluate("document.activeElement.name")
            exam.keyboard.press(press)
            settle(exam)
            assert exam.evaluate(FOCUS_IN_VIEW), f"question {number}, {press}"
            if press.startswith("Arrow"):
                assert exam.evaluate("document.activeElement.name") == at, "arrows stay in their question"
