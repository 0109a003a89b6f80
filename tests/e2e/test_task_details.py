"""Small things of the task screen: definitions, marks, keys, the bar, whose answers are shown, and the width of a pair."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.hit_types.base import answers_in_words
from annotator.web.task_page import stage_marks
from tests.e2e.contexts import context_open
from tests.e2e.task_screens import show, stages_of

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", ["simulation", "question_validation", "rationale_properties"])
def test_definitions_are_shown_before_the_choice_on_phones_too(
    style: str, phone: Page, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stages, number, _ = next(stages_of(name, "short"))
    show(style, phone, monkeypatch, stages[number])
    details = phone.locator("[data-open-question] .option__detail")
    assert details.count()
    for one in details.all():
        expect(one).to_be_visible()


@pytest.mark.parametrize("name", ["simulation", "atomic_units"])
def test_marks_are_targets_of_24_pixels(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stages, number, _ = next(stages_of(name, "short"))
    show(style, page, monkeypatch, stages[number])
    sizes = page.eval_on_selector_all(
        ".option__mark", "all => all.flatMap(one => [one.offsetWidth, one.offsetHeight]).filter(Boolean)"
    )
    assert sizes
    assert min(sizes) >= 24


def test_keys_are_not_shown_without_scripts(browser: Browser, style: str) -> None:
    with context_open(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(style + "task/")
        expect(page.locator(".option").first).to_be_visible()
        for key in page.locator(".key").all():
            expect(key).to_be_hidden()


@pytest.mark.parametrize("height", [768, 1080])
def test_the_bar_of_a_short_list_is_at_the_bottom(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch, height: int
) -> None:
    *_, (stages, number, _) = stages_of("atomic_units", "short")
    page.set_viewport_size({"width": 1366, "height": height})
    show(style, page, monkeypatch, stages[number])
    box = page.locator("[data-panel]").bounding_box()
    assert box
    assert abs(box["y"] + box["height"] - height) < 2


def test_earlier_answers_are_the_persons_own_and_are_announced(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, (stages, number, before) = stages_of("utility", "short")
    assert number, "a type with two stages"
    said = answers_in_words(stages[:number], before)
    show(style, page, monkeypatch, stages[number], stages=stage_marks(stages, number), committed=said)
    expect(page.locator(".committed dd").first).to_have_text(f"You answered: {said[0][1]}")
    announced = page.locator(".committed [data-announce]").first.get_attribute("data-announce")
    assert announced == f"You answered: {said[0][1]}."


def test_two_pairs_of_responses_have_their_own_names_and_width(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages, number, _ = next(stages_of("simulation_preference", "short"))
    labels = [block.label for block in stages[number].blocks]
    assert len(set(labels)) == len(labels)
    show(style, page, monkeypatch, stages[number])
    width = page.locator("[data-pinned]").evaluate("one => one.clientWidth")
    for name in ("follow_up_response_1", "follow_up_response_2"):
        box = page.locator(f"[data-pinned] [data-block={name}]").bounding_box()
        assert box
        assert box["width"] > 0.45 * width
