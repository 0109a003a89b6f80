"""Every screen in every state: no finding of axe, no violation of the strictest policy, no horizontal overflow."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client, override_settings
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, Response, expect

from annotator.web.style_gallery.samples import screens
from tests.e2e.axe import violations
from tests.e2e.style_server import served

pytestmark = pytest.mark.browser

NAMES = ["", *(f"screen/{one.name}/" for one in screens() if one.name != "drawer")]
TASKS = [
    "screen/task-chosen/",
    "screen/task-pairs/",
    "screen/task-multi/",
    "screen/task-after/",
    "screen/exam/",
]
PICTURES = Path(__file__).parents[2] / "test-results" / "style"


@pytest.fixture(scope="module")
def style() -> Iterator[str]:
    with served() as address:
        yield f"{address}/style/"


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_reads_well_in_light_in_dark_and_narrow(style: str, page: Page, name: str) -> None:
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(style + name)
    page.evaluate("document.fonts.ready")
    photograph(page, name, "light")
    found = violations(page)
    if found and all(one.startswith("target-size") for one in found):
        # The bar at the bottom may cover half of a control; it can be scrolled away from it.
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        found = violations(page)
    assert found == [], "\n".join(found)
    page.emulate_media(color_scheme="dark")
    photograph(page, name, "dark")
    assert violations(page, "color-contrast") == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320, "scrolls sideways"


def photograph(page: Page, name: str, theme: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    file = PICTURES / f"{name.replace('screen/', '').strip('/') or 'index'}-{theme}.png"
    assert len(captured(page, file)) > 5_000, "an empty page"


def captured(page: Page, file: Path) -> bytes:
    """A screenshot. On a busy machine Chromium sometimes fails to make one at the first attempt."""
    for _ in range(4):
        try:
            return page.screenshot(path=file)
        except PlaywrightError as error:
            if "Unable to capture screenshot" not in str(error):
                raise
            page.wait_for_timeout(500)
    return page.screenshot(path=file)


OPENED = {
    "the menu": lambda page: page.keyboard.press("."),
    "a report of a problem": lambda page: open_form(page, "Report a problem"),
    "a question": lambda page: open_form(page, "Ask the researcher"),
    "a skip": lambda page: open_form(page, "Skip this task"),
    "the keys": lambda page: page.keyboard.press("?"),
    "the instructions": lambda page: open_drawer(page),
    "another tab": lambda page: reveal(page, "[data-conflict]"),
    "no connection": lambda page: page.context.set_offline(True),
    "the last minutes": lambda page: reveal(page, "[data-lease]"),
}


def open_form(page: Page, name: str) -> None:
    page.keyboard.press(".")
    page.get_by_text(name).click()
    expect(page.locator(".menu__item[open] form")).to_be_visible()


def open_drawer(page: Page) -> None:
    page.keyboard.press("i")
    expect(
        page.get_by_role("complementary", name="Instructions").get_by_text("Your task", exact=True)
    ).to_be_visible()


def reveal(page: Page, selector: str) -> None:
    page.locator(selector).evaluate("one => (one.hidden = false)")


@pytest.mark.parametrize("what", OPENED)
def test_axe_finds_nothing_in_what_opens_over_a_task(style: str, page: Page, what: str) -> None:
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(style + "screen/task-chosen/")
    page.wait_for_selector("html[data-script]")
    OPENED[what](page)
    photograph(page, f"opened {what}".replace(" ", "-"), "light")
    assert violations(page) == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert violations(page, "color-contrast") == []
    page.context.set_offline(False)


def test_material_has_the_strongest_contrast(style: str, page: Page) -> None:
    page.goto(style + "screen/task-long/")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert violations(page, "color-contrast-enhanced", within=".block__text") == []


@pytest.mark.parametrize("name", TASKS)
def test_axe_finds_nothing_on_a_phone(style: str, phone: Page, name: str) -> None:
    phone.goto(style + name)
    assert violations(phone) == []


def test_options_stay_in_view_on_a_phone_however_long_the_text(style: str, phone: Page) -> None:
    phone.goto(style + "screen/task-long/")
    height = phone.viewport_size["height"]  # type: ignore[index]
    assert phone.evaluate("document.documentElement.scrollHeight") > height
    for place in (0, 400, 100_000):
        phone.evaluate(f"window.scrollTo(0, {place})")
        for option in phone.locator(".option").all():
            box = option.bounding_box()
            assert box
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height
            assert box["height"] >= 44


@pytest.mark.parametrize("name", ["task-pairs", "task-points", "exam"])
def test_the_options_of_the_text_that_is_read_are_in_view_on_a_phone(
    style: str, phone: Page, name: str
) -> None:
    """With several texts, the options of the text in the middle of the window are above the button."""
    phone.set_viewport_size({"width": 390, "height": 560})
    phone.goto(f"{style}screen/{name}/")
    phone.wait_for_selector("[data-open-question]")
    rows = ".paired__row:not(.paired__row--last), .quiz:not(.quiz--paired)"
    hidden = phone.evaluate(
        """rows => {
            const bottom = () => document.querySelector('.panel').getBoundingClientRect().top;
            const hidden = [];
            for (let at = 0; at < document.documentElement.scrollHeight; at += 150) {
                window.scrollTo(0, at);
                const read = [...document.querySelectorAll(rows)].find((row) => {
                    const box = row.getBoundingClientRect();
                    return box.top < innerHeight / 3 && box.bottom > bottom() - 150;
                });
                for (const option of read?.querySelectorAll('.option') ?? []) {
                    if (!option.checkVisibility()) continue;
                    const box = option.getBoundingClientRect();
                    if (box.height < 44 || box.top < 48 || box.bottom > bottom() + 1) hidden.push([at, box.top]);
                }
            }
            return hidden;
        }""",
        rows,
    )
    assert hidden == []


def test_material_is_on_the_left_and_the_question_stays_on_the_right(style: str, page: Page) -> None:
    page.goto(style + "screen/task-long/")
    page.evaluate("window.scrollTo(0, 300)")
    material, panel = page.locator(".task__material").bounding_box(), page.locator(".panel").bounding_box()
    assert material
    assert panel
    assert material["x"] + material["width"] <= panel["x"]
    assert 0 < panel["y"] < 150
    assert page.locator(".block__text").first.evaluate("e => getComputedStyle(e).fontSize") == "19px"


def test_everything_is_above_the_fold_on_a_laptop(style: str, page: Page) -> None:
    page.goto(style + "screen/task/")
    assert page.evaluate("document.documentElement.scrollHeight") <= 768


def test_first_view_is_eight_responses_and_sixty_kilobytes_at_most(style: str, page: Page) -> None:
    bodies: list[Response] = []
    page.on("response", lambda response: bodies.append(response))
    page.goto(style + "screen/task/", wait_until="networkidle")
    sizes = {one.url: len(gzip.compress(one.body())) for one in bodies}
    assert len(bodies) <= 8, sizes
    assert sum(sizes.values()) <= 60_000, sizes
    assert page.locator("script:not([defer])").count() == 0


def test_a_chosen_theme_overrides_the_devices_setting(style: str, page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(style)
    page.get_by_label("Dark", exact=True).check()
    dark = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(dark) == "rgb(22, 21, 19)"
    page.goto(style + "screen/task/")
    assert page.evaluate(dark) == "rgb(22, 21, 19)"


def test_steps_expand_without_a_script(style: str, no_script_page: Page) -> None:
    page = no_script_page
    page.goto(style + "screen/task/")
    second = page.get_by_text("What will the robot answer to the follow-up question?")
    assert not second.is_visible()
    page.locator(".option", has_text="Not helpful").click()
    assert not second.is_visible()
    page.locator(".option").nth(1).click()
    assert second.is_visible()
    assert page.get_by_role("button", name="Submit").is_enabled()


def test_markup_in_material_is_shown_as_text(style: str, page: Page) -> None:
    page.goto(style + "screen/task-bidi/")
    assert "<script>alert(1)</script>" in page.locator(".block__text").nth(2).inner_text()
    assert page.locator(".block__text script, .block__text img").count() == 0


def test_system_colours_distinguish_the_chosen_option(style: str, page: Page) -> None:
    page.emulate_media(forced_colors="active")
    page.goto(style + "screen/task-chosen/")
    chosen = page.locator(".option:has(:checked)").first
    other = page.locator(".option:not(:has(:checked))").first
    outline = "e => getComputedStyle(e).outlineStyle"
    assert chosen.evaluate(outline) == "solid"
    assert other.evaluate(outline) == "none"


def test_instructions_are_printed_in_full_and_without_controls(style: str, page: Page) -> None:
    page.goto(style + "screen/instructions/")
    page.locator("summary").first.click()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.get_by_text("You are not asked for the right answer.").is_visible()
    assert not page.get_by_role("button", name="Continue").is_visible()


def test_the_style_gallery_does_not_exist_in_production() -> None:
    with override_settings(DEBUG=False):
        assert Client(HTTP_HOST="127.0.0.1").get("/style/").status_code == 404
        assert Client(HTTP_HOST="127.0.0.1").get("/style/screen/task/").status_code == 404
