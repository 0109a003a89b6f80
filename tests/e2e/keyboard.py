"""An annotator who uses only the keyboard: reads the key that an option shows and presses it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page


def wait_ready(page: Page) -> None:
    """Wait until the form's scripts are attached and nothing is being sent."""
    page.wait_for_selector("form[data-task] [data-send], form[data-next] button", state="attached")
    page.wait_for_function("() => !document.querySelector('form[data-sending]') && Boolean(window.foretell)")


def answer(page: Page, wanted: dict[str, Any], *, most: int = 120) -> None:
    """Answer every open question of the page with its keys; ``wanted`` maps field names to values."""
    for _ in range(most):
        opened = page.locator("form[data-task] [data-open-question]")
        if opened.count() == 0:
            return
        control = opened.first.locator("input, textarea").first
        name = control.get_attribute("name") or ""
        if control.evaluate("one => one.tagName") == "TEXTAREA":
            reach(page, name)
            page.keyboard.type(str(wanted.get(name) or "Nothing is missing."))
            continue
        values = wanted[name] if isinstance(wanted[name], list) else [wanted[name]]
        for value in values:
            option = opened.first.locator(f"input[value={value!r}]")
            key, name_on_page = option.get_attribute("data-key"), option.get_attribute("id")
            if key:
                if in_text(page):  # in a text field a digit is typed; Tab leaves the field
                    page.keyboard.press("Tab")
                page.keyboard.press(key)
            else:  # options after the ninth have no key: use arrows and space
                reach(page, name, value)
                page.keyboard.press("Space")
            page.wait_for_function("id => document.getElementById(id).checked", arg=name_on_page)
    raise AssertionError(f"still open after {most} answers: {opened.first.inner_text()}")


def reach(page: Page, name: str, value: str = "") -> None:
    """Tab until the control has the focus."""
    for _ in range(200):
        at = page.evaluate("() => [document.activeElement.name || '', document.activeElement.value || '']")
        if at[0] == name and (not value or at[1] == value):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} is not reachable with Tab")


def submit(page: Page) -> None:
    """Submit with Enter, or Ctrl+Enter in a text field."""
    page.keyboard.press("Control+Enter" if in_text(page) else "Enter")


def in_text(page: Page) -> bool:
    """Whether a text field has the focus."""
    return bool(page.evaluate("() => document.activeElement.tagName === 'TEXTAREA'"))
