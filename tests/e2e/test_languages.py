"""German and Arabic in the browser: every HIT type played with keys and by touch, every screen at 320 pixels."""

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
from tests.annotator.web.test_annotator_flow import TYPES
from tests.e2e.test_every_page import violations
from tests.e2e.test_in_view import play, show, stages_of
from tests.factories import make_study

pytestmark = pytest.mark.browser
every_type = pytest.mark.parametrize("name", TYPES)
#: Elements whose text is wider than they are, so that it is cut off.
CLIPPED = """() => [...document.querySelectorAll(
    '.button, .tool, .option__label, .option__detail, .stages li, .block__label, .top__facts, .menu__link')]
    .filter(one => one.offsetWidth > 1 && one.checkVisibility() && !one.closest('.visually-hidden'))
    .filter(one => getComputedStyle(one).overflow !== 'visible' && one.scrollWidth > one.clientWidth + 1)
    .map(one => one.outerHTML.slice(0, 160))"""


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
    stages, _, before = list(stages_of(name, "long"))[number]
    with override(code):
        shown = stages_shown(stages)
        said = answers_in_words(stages[:number], before, gettext)
        show(style, page, monkeypatch, shown[number], stages=stage_marks(shown, number), committed=said)
    return len(stages)


@every_type
def test_a_type_in_arabic_on_a_laptop(
    style: str,
    page: Page,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    number, count = 0, 1
    while number < count:
        count = show_stage(style, page, monkeypatch, name, "ar", number)
        assert page.locator("html").get_attribute("dir") == "rtl"
        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        # Material in English keeps its direction, and options in Arabic have theirs.
        for block in page.locator(".block__text").all():
            assert block.evaluate("one => getComputedStyle(one).direction") == "ltr", block.inner_text()
        for option in page.locator(".option").all():
            arabic = any("\u0600" <= letter <= "\u06ff" for letter in option.inner_text())
            assert option.evaluate("one => getComputedStyle(one).direction") == ("rtl" if arabic else "ltr")
        assert violations(page) == []
        # Key 1 is the first option as it is read, and stays so.
        keys = page.locator("[data-current] .option .key:visible").all_inner_texts()
        assert keys == [str(place) for place in range(1, len(keys) + 1)]
        assert play(page, touch=False, lines=1) > 0
        number += 1


@pytest.mark.parametrize("code", ["ar", "de"])
@every_type
def test_a_type_on_a_phone(
    style: str,
    phone: Page,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    code: str,
) -> None:
    number, count = 0, 1
    while number < count:
        count = show_stage(style, phone, monkeypatch, name, code, number)
        play(phone, touch=True, lines=1)
        phone.set_viewport_size({"width": 320, "height": 640})
        assert phone.evaluate("document.documentElement.scrollWidth") <= 320, "scrolls sideways"
        assert phone.evaluate(CLIPPED) == []
        phone.set_viewport_size({"width": 390, "height": 844})
        number += 1


@pytest.mark.parametrize("code", ["ar", "de"])
def test_no_screen_scrolls_sideways_or_clips_a_word(style: str, page: Page, code: str) -> None:
    speak(page, style, code)
    found = []
    for screen in screens():
        page.set_viewport_size({"width": 320, "height": 640})
        page.goto(f"{style}{screen.name}/")
        if page.locator("html").get_attribute("lang") != code:
            assert not screen.with_request, screen.name
        if page.evaluate("document.documentElement.scrollWidth") > 320:
            found.append(f"{screen.name}: scrolls sideways")
        found += [f"{screen.name}: {one}" for one in page.evaluate(CLIPPED)]
        if code == "ar":
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
    expect(page.locator("input:checked")).to_have_count(1)
    page.locator("input[type=radio]").last.check()
    page.get_by_role("button", name="إرسال").click()
    expect(page.locator("[data-undo]")).to_be_visible()
    assert Judgment.objects.get().language == "ar"
