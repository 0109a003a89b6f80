"""German and Arabic in the browser: every HIT type on a laptop and a phone, every screen at 320 pixels."""

from __future__ import annotations

import pytest
from django.utils.translation import gettext, override
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.hit_types.base import answers_in_words
from annotator.models import Judgment
from annotator.web.style_gallery.samples import screens
from annotator.web.task_page import stage_marks
from annotator.web.wording import stages_shown
from tests.annotator.demo_studies import DECLARED, TYPES
from tests.e2e.axe import violations
from tests.e2e.task_screens import show, stages_of
from tests.factories import make_study

pytestmark = pytest.mark.browser
every_type = pytest.mark.parametrize("name", [*TYPES, *DECLARED])
#: Passages aren't marked with keys alone; test_passages.py marks them, in Arabic too.
every_type_with_keys = pytest.mark.parametrize(
    "name", [*TYPES, *(one for one in DECLARED if one not in ("error_spans", "inference_explained"))]
)
#: Elements whose text is wider than they are, so that it is cut off.
CLIPPED = """() => [...document.querySelectorAll(
    '.button, .tool, .option__label, .option__detail, .stages li, .block__label, .top__facts, .menu__link')]
    .filter(one => one.offsetWidth > 1 && one.checkVisibility() && !one.closest('.visually-hidden'))
    .filter(one => getComputedStyle(one).overflow !== 'visible' && one.scrollWidth > one.clientWidth + 1)
    .map(one => one.outerHTML.slice(0, 160))"""
#: Screens that axe looks at in Arabic, besides every task.
AXE = (
    "invitation",
    "consent",
    "instructions",
    "practice-wrong",
    "exam",
    "exam-failed",
    "task-refused",
    "done",
    "me",
    "signup",
)
DIRECTIONS = """() => [...document.querySelectorAll('.block__text, .option')]
    .map(one => [one.innerText, getComputedStyle(one).direction])"""


def speak(page: Page, address: str, code: str) -> None:
    page.context.add_cookies([{"name": "language", "value": code, "url": address}])


def show_stage(
    style: str,
    page: Page,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    code: str,
    number: int,
) -> int:
    """Open one stage of a type in a language; returns how many stages there are."""
    speak(page, style, code)
    stages, _, before = list(stages_of(name, "short"))[number]
    with override(code):
        shown = stages_shown(stages)
        said = answers_in_words(stages[:number], before, gettext)
        show(style, page, monkeypatch, shown[number], stages=stage_marks(shown, number), committed=said)
    return len(stages)


def answer_with_keys(page: Page) -> int:
    """Press the key of each open question's last option; returns the number of presses."""
    presses = 0
    while page.locator("[data-open-question]").count():
        opened = page.locator("[data-open-question]")
        if opened.locator("textarea").count():
            opened.locator("textarea").fill("The lamps are missing.")
            page.locator("textarea:focus").blur()
            continue
        option = opened.locator("input").last
        name = option.get_attribute("id")
        page.keyboard.press(option.get_attribute("data-key") or "")
        expect(page.locator(f"#{name}")).to_be_checked()
        presses += 1
    return presses


def no_wider(page: Page) -> None:
    """Nothing scrolls sideways or is cut off at 320 pixels."""
    size = page.viewport_size
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320, "scrolls sideways"
    assert page.evaluate(CLIPPED) == []
    assert size
    page.set_viewport_size(size)


@every_type_with_keys
def test_a_type_in_arabic_on_a_laptop(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    number, count = 0, 1
    while number < count:
        page.emulate_media(color_scheme="light")
        count = show_stage(style, page, monkeypatch, name, "ar", number)
        assert page.evaluate("getComputedStyle(document.documentElement).direction") == "rtl"
        # Material in English keeps its direction, and options in Arabic have theirs.
        for text, direction in page.evaluate(DIRECTIONS):
            arabic = any("\u0600" <= letter <= "\u06ff" for letter in text)
            assert direction == ("rtl" if arabic else "ltr"), text
        assert violations(page) == []
        # Key 1 is the first option as it is read.
        keys = page.locator("[data-current] .option .key:visible").all_inner_texts()
        assert keys == [str(place) for place in range(1, len(keys) + 1)]
        assert answer_with_keys(page) > 0
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.reload()
        assert violations(page, "color-contrast") == []
        number += 1


@pytest.mark.parametrize("code", ["ar", "de"])
@every_type
def test_a_type_on_a_phone(
    style: str, phone: Page, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    number, count = 0, 1
    while number < count:
        count = show_stage(style, phone, monkeypatch, name, code, number)
        assert phone.locator("html").get_attribute("dir") == ("rtl" if code == "ar" else "ltr")
        if code == "ar" and number == 0:
            assert violations(phone) == []
        no_wider(phone)
        number += 1


def test_code_and_formulas_keep_their_direction_in_arabic(style: str, page: Page) -> None:
    speak(page, style, "ar")
    page.goto(f"{style}task-formats/")
    assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
    directions = page.evaluate(
        "[...document.querySelectorAll('pre, code')].map(one => getComputedStyle(one).direction)"
    )
    assert directions
    assert set(directions) == {"ltr"}


def test_english_texts_of_a_study_keep_their_direction_in_arabic(style: str, page: Page) -> None:
    speak(page, style, "ar")
    for name, count in (("consent", 3), ("instructions", 1)):
        page.goto(f"{style}{name}/")
        directions = page.evaluate(
            "[...document.querySelectorAll('.prose p')].map(one => getComputedStyle(one).direction)"
        )
        assert len(directions) >= count
        assert set(directions) == {"ltr"}, name


@pytest.mark.parametrize("code", ["ar", "de"])
def test_no_screen_scrolls_sideways_or_clips_a_word(style: str, page: Page, code: str) -> None:
    speak(page, style, code)
    found = []
    for screen in screens():
        page.set_viewport_size({"width": 320, "height": 640})
        page.goto(f"{style}{screen.name}/")
        if not page.locator("html[lang]").count():
            continue  # the part of a page that a script loads
        if screen.with_request:
            assert page.locator("html").get_attribute("lang") == code, screen.name
        if page.evaluate("document.documentElement.scrollWidth") > 320:
            found.append(f"{screen.name}: scrolls sideways")
        found += [f"{screen.name}: {one}" for one in page.evaluate(CLIPPED)]
        if code == "ar" and screen.name in AXE:
            page.set_viewport_size({"width": 1366, "height": 768})
            found += [f"{screen.name}: {one}" for one in violations(page)]
    assert found == []


@pytest.mark.django_db(transaction=True)
def test_changing_the_language_keeps_the_answer(page: Page, live_server: LiveServer) -> None:
    study = make_study(items=2, launched=True, practice_required=False, exam_required=False)
    page.goto(f"{live_server.url}/join/{study.join_token}/")
    page.get_by_role("button", name="Deutsch").click()
    page.get_by_role("button", name="Anfangen").click()
    page.get_by_role("button", name="Weiter", exact=True).click()
    page.wait_for_selector("[data-current]")
    page.keyboard.press("2")
    page.locator("[data-menu] summary").first.click()
    page.get_by_role("link", name="Sprache").click()
    page.get_by_role("button", name="العربية").click()
    page.wait_for_selector("html[lang=ar] [data-current]")
    expect(page.locator("[data-current] input:checked, [data-scope] input:checked").first).to_be_attached()
    assert page.locator("form[data-task] input:checked").count() == 1
    answer_with_keys(page)
    page.get_by_role("button", name="إرسال").click()
    expect(page.locator("[data-undo]")).to_be_visible()
    assert Judgment.objects.get().language == "ar"


@pytest.mark.django_db(transaction=True)
def test_the_name_at_the_top_is_on_the_right_in_a_right_to_left_page(
    page: Page, live_server: LiveServer
) -> None:
    """Text in Latin letters too, in a page that is read from right to left."""
    page.goto(f"{live_server.url}/")
    page.get_by_role("button", name="العربية").click()
    page.wait_for_selector("html[dir=rtl]")
    right = page.evaluate(
        """() => {
            const range = document.createRange();
            range.selectNodeContents(document.querySelector('.top__name'));
            return innerWidth - range.getBoundingClientRect().right;
        }"""
    )
    left = page.evaluate("document.querySelector('.top__in').getBoundingClientRect().left")
    assert right <= left + 40
