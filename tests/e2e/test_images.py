"""An image of the material: it fits, is kept in view, and opens in full by key, by click and by touch."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from playwright.sync_api import Page, expect

from annotator.hit_types.base import Block, Field, Option, Stage
from annotator.hit_types.images import ImageText, StoredImage
from tests.e2e.task_screens import show
from tests.pictures import picture

pytestmark = pytest.mark.browser
IMAGE = str(ImageText("A lamp above the harbour", "lamp.png", StoredImage("ab" * 32, 1600, 1200)))
STAGE = Stage(
    "lamp",
    "Which lamp is it?",
    (Block("image", "Image", IMAGE, format="image"), Block("question", "Question", "Is it lit?", group="question")),
    (Field("lit", "Is the lamp lit?", options=(Option("yes", "Yes"), Option("no", "No")), about=("image", "question")),),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gallery's visitor has no account, and its images no files: the test sends one."""
    monkeypatch.setattr(AnonymousUser, "is_authenticated", True)
    monkeypatch.setattr("annotator.web.templatetags.screens.image_url", lambda **_: "/fake/lamp.png")


def shown(style: str, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    content = picture("olive", size=(1600, 1200))
    page.route("**/fake/lamp.png", lambda route: route.fulfill(body=content, content_type="image/png"))
    show(style, page, monkeypatch, STAGE)
    page.wait_for_function("[...document.images].every((one) => one.complete)")


def test_an_image_fits_and_opens_by_key_and_click(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.emulate_media(color_scheme="dark")
    shown(style, page, monkeypatch)
    image = page.get_by_role("img", name="A lamp above the harbour")
    box = image.bounding_box()
    assert box
    assert box["x"] + box["width"] <= 1366
    assert 200 < box["height"] <= 0.6 * 768 + 1
    assert image.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
    page.keyboard.press("z")
    dialog = page.get_by_role("dialog", name="A lamp above the harbour")
    expect(dialog).to_be_visible()
    page.keyboard.press("1")
    assert not page.locator("[name=lit]").first.is_checked(), "a key for the image answered the question"
    page.keyboard.press("+")
    expect(dialog).to_have_attribute("data-full", "")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert page.evaluate("document.activeElement.hasAttribute('data-zoom')")
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    page.keyboard.press("1")
    assert page.locator("[name=lit]").first.is_checked()


def test_the_image_has_the_focus_as_soon_as_it_is_closed(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only when the dialog's ``close`` event arrives: until then, a key would be pressed nowhere."""
    shown(style, page, monkeypatch)
    page.keyboard.press("z")
    expect(page.get_by_role("dialog", name="A lamp above the harbour")).to_be_visible()
    assert page.evaluate(
        "document.querySelector('dialog[open]').close(), document.activeElement.hasAttribute('data-zoom')"
    )


def test_an_image_opens_by_touch(style: str, phone: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    shown(style, phone, monkeypatch)
    phone.locator("[data-zoom]").first.tap()
    dialog = phone.get_by_role("dialog", name="A lamp above the harbour")
    expect(dialog).to_be_visible()
    phone.get_by_role("button", name="Close").tap()
    expect(dialog).to_have_count(0)
    phone.set_viewport_size({"width": 320, "height": 640})
    assert phone.evaluate("document.documentElement.scrollWidth") <= 320
