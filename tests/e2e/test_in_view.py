"""The material that a question is about stays in view while it is answered: every HIT type, short and long material,
laptop and phone."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from annotator.hit_types.base import answers_in_words
from annotator.hit_types.registry import hit_type_get
from annotator.services.demo import demo_lines
from annotator.web.style_gallery.samples import STUDY, Screen
from annotator.web.task_page import stage_marks
from tests.annotator.demo_studies import TYPES
from tests.e2e.task_screens import LONGER, SENTENCE, longer, open_screen, settle, show, stages_of

pytestmark = pytest.mark.browser

#: Names of the blocks that the open question is about and whose first lines can't be seen; and hidden options.
HIDDEN = """lines => {
    const within = (x, y, element) => element.contains(document.elementFromPoint(x, y));
    const asked = document.querySelector('[data-open-question]') ?? document.querySelector('[data-current]');
    const scope = asked.closest('[data-scope]');
    const hidden = [];
    for (const name of asked.dataset.about.split(' ')) {
        const block = scope.querySelector(`[data-block="${name}"]`);
        const text = block.querySelector('.block__text, .block__list, .block__body');
        const range = document.createRange();
        range.selectNodeContents(text);
        const seen = [...range.getClientRects()].filter((rect) => rect.width > 1).slice(0, lines);
        const clear = (rect) => [rect.top + 2, rect.bottom - 4].every((y) => within(rect.left + 3, y, block));
        if (!seen.length || !seen.every(clear)) hidden.push(name);
    }
    for (const option of asked.querySelectorAll('.option')) {
        const box = option.getBoundingClientRect();
        if (!within(box.left + box.width / 2, box.top + box.height / 2, option)) hidden.push(option.innerText);
    }
    return hidden;
}"""

#: On how many lines the text of each element is.
LINES = """all => all.map(one => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return new Set([...range.getClientRects()].map(rect => Math.round(rect.top))).size;
})"""


def play(page: Page, *, touch: bool, lines: int) -> int:
    """Answer every question, with one key each or by touch; returns the number of presses."""
    presses = 0
    while page.locator("[data-open-question]").count():
        settle(page)
        assert page.evaluate(HIDDEN, lines) == [], f"after {presses} answers"
        opened = page.locator("[data-open-question]")
        if opened.locator("textarea").count():
            opened.locator("textarea").fill("The lamps are missing.")
            page.locator("textarea:focus").blur()
            continue
        option = opened.locator("input").last
        if touch:
            name = option.get_attribute("id")
            box = page.locator(f"label[for={name}]").bounding_box()
            assert box
            page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            expect(page.locator(f"#{name}")).to_be_checked()
        else:
            page.keyboard.press(option.get_attribute("data-key") or "")
        presses += 1
    return presses


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize("name", TYPES)
def test_what_is_asked_about_stays_in_view_on_a_laptop(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch, name: str, length: str
) -> None:
    for stages, number, before in stages_of(name, length):
        said = answers_in_words(stages[:number], before)
        show(style, page, monkeypatch, stages[number], stages=stage_marks(stages, number), committed=said)
        presses = play(page, touch=False, lines=2)
        assert presses <= len(stages[number].fields), "more presses than questions"


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize("name", TYPES)
def test_what_is_asked_about_stays_in_view_on_a_phone(
    style: str, phone: Page, monkeypatch: pytest.MonkeyPatch, name: str, length: str
) -> None:
    for stages, number, before in stages_of(name, length):
        said = answers_in_words(stages[:number], before)
        show(style, phone, monkeypatch, stages[number], stages=stage_marks(stages, number), committed=said)
        clipped = phone.eval_on_selector_all(
            ".committed dt, .committed dd",
            "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length",
        )
        assert clipped == 0, "an earlier answer is cut off"
        lines = phone.eval_on_selector_all(".stages__count", LINES)
        assert max(lines, default=0) <= 1, "the number of the stage is broken over two lines"
        play(phone, touch=True, lines=1)
        phone.set_viewport_size({"width": 320, "height": 640})
        assert phone.evaluate("document.documentElement.scrollWidth") <= 320, "scrolls sideways"
        phone.set_viewport_size({"width": 390, "height": 844})


def exam_of(name: str, length: str) -> Screen:
    """The exam of a type with two of its questions."""
    kind = hit_type_get(name)
    questions = []
    for number, one in enumerate(kind.exam[:2], 1):
        payload = longer(one.payload) if length == "long" else one.payload
        stage = kind.question_stage(payload, one.gold)
        questions.append(
            {"number": number, "prefix": f"q{number}-", "stage": stage, "response": {}, "errors": {}}
        )
    context = {
        "study": STUDY, "attempt": SimpleNamespace(pk=1), "questions": questions, "count": 2, "pass_mark": 1, "attempts_left": 0,
        "submit_url": "", "instructions_url": "",
    }  # fmt: skip
    return Screen("in-view", "In view", "annotator/exam.html", context)


@pytest.mark.parametrize("length", ["short", "long"])
@pytest.mark.parametrize("name", TYPES)
def test_what_is_asked_about_stays_in_view_in_an_exam(
    style: str, page: Page, phone: Page, monkeypatch: pytest.MonkeyPatch, name: str, length: str
) -> None:
    screen = exam_of(name, length)
    monkeypatch.setattr("annotator.web.style_gallery.views.screens", lambda: [screen])
    for window, touch in ((page, False), (phone, True)):
        open_screen(style, window)
        window.evaluate("foretell.show(document.querySelector('[data-current]'))")  # past the introduction
        play(window, touch=touch, lines=1 if touch else 2)
    phone.set_viewport_size({"width": 320, "height": 640})
    assert phone.evaluate("document.documentElement.scrollWidth") <= 320, "scrolls sideways"


@pytest.mark.parametrize("name", TYPES)
def test_every_question_says_what_it_is_about(name: str) -> None:
    for stages, number, _ in stages_of(name, "short"):
        blocks = {block.name for block in stages[number].blocks}
        for field in stages[number].fields:
            assert field.about, field.name
            assert set(field.about) <= blocks, field.name


def test_four_explanations_take_one_and_a_half_screens_at_most(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = hit_type_get("plausibility")
    payload = kind.parse_item(json.loads(demo_lines("plausibility", 1)[0])).payload
    payload["explanations"] = [one | {"text": SENTENCE * 3} for one in payload["explanations"]]
    assert len(payload["explanations"]) == 4
    show(style, page, monkeypatch, kind.stages(payload, {})[0])
    assert page.evaluate("document.documentElement.scrollHeight") <= 1.5 * 768
    tops = {option.bounding_box()["y"] for option in page.locator("[data-current] .option").all()}  # type: ignore[index]
    assert len(tops) == 1, "yes, moderate and no are not side by side"


def test_keys_move_to_the_next_question_and_to_the_text(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages, number, _ = list(stages_of("atomic_units", "long"))[1]
    show(style, page, monkeypatch, stages[number])
    name = "document.querySelector('[data-current] input').name"
    first = page.evaluate(name)
    page.keyboard.press("j")
    page.keyboard.press("j")
    third = page.evaluate(name)
    page.keyboard.press("1")
    assert page.locator(f"[name={third}]").first.is_checked()
    for _ in range(9):
        page.keyboard.press("k")
    assert page.evaluate(name) == first
    page.keyboard.press("t")
    article = page.locator("[data-block=input]")
    assert article.evaluate("one => one === document.activeElement")
    page.keyboard.press("End")
    expect(article).not_to_have_js_property("scrollTop", 0)
    page.keyboard.press("t")
    assert page.evaluate("document.activeElement.name") == first


def test_a_text_that_is_cut_can_be_shown_whole(
    style: str, phone: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages, number, _ = next(stages_of("simulation_preference", "long"))
    show(style, phone, monkeypatch, stages[number])
    pinned = phone.locator("[data-pin]")
    before = pinned.evaluate("one => one.offsetHeight")
    phone.get_by_role("button", name="Show more").tap()
    assert pinned.evaluate("one => one.offsetHeight") > before
    phone.get_by_role("button", name="Show less").tap()
    assert pinned.evaluate("one => one.offsetHeight") == before


@pytest.mark.parametrize("name", TYPES)
def test_a_word_that_is_too_long_wraps(
    style: str, phone: Page, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kind = hit_type_get(name)
    payload = kind.parse_item(json.loads(demo_lines(name, 1)[0])).payload
    word = "Donaudampfschifffahrtsgesellschaft" * 8
    payload = {key: f"{value} {word}" if key in LONGER else value for key, value in payload.items()}
    for stage in kind.stages(payload, {}):
        show(style, phone, monkeypatch, stage)
        phone.set_viewport_size({"width": 320, "height": 640})
        assert phone.locator("form[data-task]").get_by_text(word).count() > 0
        assert phone.evaluate("document.documentElement.scrollWidth") <= 320
        cut = phone.eval_on_selector_all(
            ".block__text", "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
        )
        assert cut == 0, stage.title
