"""How sure people are, in the browser: by keys on a laptop, by taps on a phone, without script, and from right to left."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotator.models import Judgment
from tests.annotator.demo_studies import demo_study
from tests.e2e import keyboard
from tests.e2e.tasks import begin
from tests.factories import EASY, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


@pytest.mark.parametrize(
    ("scale", "keys", "sure"),
    [("steps", ["2", "3", "4"], "very"), ("percent", ["2", "3", "8"], "80"), ("percent", ["2", "3", "h"], "100"),
     ("percent", ["2", "3", "0"], "0")],
)  # fmt: skip
def test_one_key_each_on_a_laptop(
    page: Page, live_server: LiveServer, scale: str, keys: list[str], sure: str
) -> None:
    study = make_study(items=1, launched=True, confidence=scale, redundancy=1)
    begin(page, live_server.url, study)
    asked = page.locator("#a-confidence")
    expect(asked).to_be_hidden()
    for key in keys[:-1]:
        page.keyboard.press(key)
    expect(asked).to_be_visible()
    page.keyboard.press(keys[-1])
    expect(asked.locator("input:checked")).to_have_value(sure)
    picture(page, f"laptop-{scale}")
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight + 1"), "above the fold"
    page.keyboard.press("Enter")
    expect(page.locator("form[data-task]")).to_have_count(0)
    response = Judgment.objects.get(study=study).response
    assert response == {"helpful": "yes", "answer": "yes", "confidence": sure}


def test_arrow_keys_change_it(page: Page, live_server: LiveServer) -> None:
    study = make_study(items=1, launched=True, confidence="percent", redundancy=1)
    begin(page, live_server.url, study)
    for key in ("2", "3", "5"):
        page.keyboard.press(key)
    page.locator("#a-confidence input:checked").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#a-confidence input:checked")).to_have_value("70")


def test_a_staged_task_asks_at_each_stage(page: Page, live_server: LiveServer) -> None:
    study = demo_study("utility", **(EASY | {"confidence": "steps", "completion_code": ""}))
    begin(page, live_server.url, study)
    for key in ("1", "5", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#a-confidence_after")).to_be_visible()
    keyboard.wait_ready(page)
    for key in ("1", "2", "Enter"):
        page.keyboard.press(key)
    keyboard.wait_ready(page)
    expect(page.locator("#a-confidence_before")).to_be_visible()
    response = Judgment.objects.get(study=study).response
    assert (response["confidence_before"], response["confidence_after"]) == ("completely", "slightly")


@pytest.mark.parametrize("scale", ["steps", "percent"])
def test_taps_on_a_phone(phone: Page, live_server: LiveServer, scale: str) -> None:
    study = make_study(items=1, launched=True, confidence=scale, redundancy=1)
    phone.goto(f"{live_server.url}/join/{study.join_token}/")
    phone.get_by_role("button", name="Start").tap()
    phone.get_by_role("button", name="Continue").tap()
    keyboard.wait_ready(phone)
    phone.locator("#a-helpful-2").tap()
    phone.locator("#a-answer-1").tap()
    cells = phone.locator("#a-confidence label")
    sizes = [box for one in cells.all() if (box := one.bounding_box())]
    assert len(sizes) == (5 if scale == "steps" else 11)
    assert all(box["height"] >= 44 and box["width"] >= 44 for box in sizes), "large enough for a finger"
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in sizes), "nothing is cut off"
    cells.nth(3).tap()
    picture(phone, f"phone-{scale}")
    phone.locator("[data-send]").tap()
    expect(phone.locator("form[data-task]")).to_have_count(0)
    assert Judgment.objects.get(study=study).response["confidence"] == ("very" if scale == "steps" else "30")


def test_without_script(no_script_page: Page, live_server: LiveServer) -> None:
    page = no_script_page
    study = make_study(items=1, launched=True, confidence="percent", redundancy=1)
    page.goto(f"{live_server.url}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#a-confidence")).to_be_hidden()
    page.locator("#a-helpful-2").check()
    page.locator("#a-answer-1").check()
    page.locator("#a-confidence-8").check()
    page.locator("[data-send]").click()
    expect(page.locator("form[data-task]")).to_have_count(0)
    assert Judgment.objects.get(study=study).response["confidence"] == "70"


def test_from_right_to_left(page: Page, live_server: LiveServer) -> None:
    study = make_study(items=1, launched=True, confidence="steps", redundancy=1)
    begin(page, live_server.url, study)
    page.context.add_cookies([{"name": "language", "value": "ar", "url": live_server.url}])
    page.reload()
    keyboard.wait_ready(page)
    assert page.locator("html").get_attribute("dir") == "rtl"
    for key in ("2", "3"):
        page.keyboard.press(key)
    asked = page.locator("#a-confidence")
    expect(asked).to_contain_text("ما مدى تأكدك؟")
    first, second = (asked.locator("label").nth(n).bounding_box() for n in (0, 1))
    assert first
    assert second
    assert first["x"] > second["x"] or first["y"] < second["y"], "the first step is on the right"
    page.keyboard.press("4")
    picture(page, "arabic")
    expect(asked.locator("input:checked")).to_have_value("very")
