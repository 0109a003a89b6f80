"""A researcher's steps with types of their own in the browser: upload a file, make a study, launch it, run a simulator, compute a report."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e import keyboard
from tests.e2e.commands import PASSWORD

FILES = Path(__file__).with_name("declared")
Answers = Mapping[str, Any]


def log_in(page: Page, base: str, name: str = "ada") -> None:
    page.goto(f"{base}/admin/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("[name=password]")).to_have_count(0)


def upload(page: Page, base: str, name: str, model: str = "declaredtype") -> None:
    """Put a file into the editor, and save it; its checks are on the page."""
    page.goto(f"{base}/admin/annotator/{model}/add/")
    page.get_by_text("Upload a file").click()
    page.locator("#file").set_input_files(FILES / f"{name}.yaml")
    page.get_by_role("button", name="Put it into the editor").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text(f"Version 1 of {name} was saved.")).to_be_visible()
    checks = 5 if model == "declaredtype" else 3
    expect(page.locator(".declare__checks").get_by_text("Passed.")).to_have_count(checks)


def study_make(page: Page, base: str, type_title: str, title: str, **settings: str) -> None:
    """A draft of the type, with these settings from its settings page."""
    page.goto(f"{base}/admin/annotator/study/add/")
    page.get_by_text(type_title).first.click()
    page.fill("[name=title]", title)
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_text("Study created.")).to_be_visible()
    if settings:
        page.locator(".fk-tabs").get_by_role("link", name="Settings").click()
        for name, value in settings.items():
            page.fill(f"[name={name}]", value)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Settings saved")).to_be_visible()
        page.locator(".fk-tabs").get_by_role("link", name="Overview").click()


def material_upload(page: Page, rows: Sequence[Answers]) -> None:
    page.click(".steps a:has-text('Import material')")
    content = "\n".join(map(json.dumps, rows)).encode()
    page.set_input_files(
        "[name=file]", {"name": "rows.jsonl", "mimeType": "application/x-ndjson", "buffer": content}
    )
    page.click("button:has-text('Check')")
    page.get_by_role("button", name=f"Import {len(rows)} items").click()
    expect(page.get_by_text("Ready to launch")).to_be_visible()


def launch(page: Page) -> str:
    """The link for annotators."""
    page.click(".steps a:has-text('Launch')")
    page.click("button:has-text('Launch')")
    link = page.get_by_label("Join link")
    expect(link).to_be_visible()
    return link.input_value()


def join(page: Page, link: str) -> None:
    """From the link to the first question."""
    page.goto(link)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="I want to take part").click()
    page.get_by_role("button", name="Continue").click()
    keyboard.wait_ready(page)


def answers_send(page: Page, answers: Answers) -> None:
    """Answer what the page asks with its keys, and wait for the next page."""
    keyboard.wait_ready(page)
    keyboard.answer(page, dict(answers))
    sent(page)


def sent(page: Page) -> None:
    """Submit a task, and wait for the next one or the end."""
    task = page.locator("form[data-task]").get_attribute("data-task")
    keyboard.submit(page)
    page.wait_for_function(
        "task => document.querySelector('form[data-task]')?.dataset.task !== task", arg=task
    )
    page.wait_for_load_state()


def questionnaire_send(page: Page, answers: Answers) -> None:
    """Choose these answers of a questionnaire with the mouse, and submit them."""
    for name, value in answers.items():
        page.locator(f"label:has(input[name='{name}'][value='{value}'])").click()
    heading = page.locator("h1").inner_text()
    page.get_by_role("button", name="Submit answers").click()
    expect(page.locator("h1")).not_to_have_text(heading)


def field_names(page: Page) -> list[str]:
    """The names of the questions with options on the page, in its order."""
    names = page.locator("form[data-task] input[type=radio]").evaluate_all("all => all.map(one => one.name)")
    return list(dict.fromkeys(names))


def endpoint_make(page: Page, base: str, provider: str) -> None:
    page.goto(f"{base}/admin/evaluation/endpoint/add/")
    page.fill("[name=name]", "scripted")
    page.fill("[name=base_url]", provider)
    page.fill("[name=model]", "scripted")
    page.click("[name=_save]")
    expect(page.locator("[name=base_url]")).to_have_count(0)


def study_open(page: Page, base: str, title: str, tab: str) -> None:
    page.goto(f"{base}/admin/annotator/study/")
    page.get_by_role("link", name=title, exact=True).click()
    page.locator(".fk-tabs").get_by_role("link", name=tab).click()


def simulate(page: Page, base: str, title: str, calls: int) -> None:
    study_open(page, base, title, "Simulators")
    page.get_by_role("link", name="Run a simulator").click()
    page.select_option("[name=endpoint]", label="scripted")
    page.click("[name=_save]")
    expect(page.get_by_text("Nothing has been sent.")).to_be_visible()
    page.click("#run-progress button:has-text('Start')")
    expect(page.get_by_role("heading", name=f"Done: {calls} of {calls} calls")).to_be_visible()


def report_compute(page: Page, base: str, title: str, **choices: str) -> None:
    study_open(page, base, title, "Reports")
    page.get_by_text("Options", exact=True).click()
    for name, value in {"replicates": "100", **choices}.items():
        page.fill(f"[name={name}]", value)
    page.get_by_role("button", name="Compute report").click()
    expect(page.locator(".rtable").first).to_be_visible()


def row_of(page: Page, table: str, head: str) -> list[str]:
    """The cells of a row of a report's table, which may be folded, without the intervals below them."""
    header = page.locator("th[scope=row]", has_text=re.compile(rf"^\s*{re.escape(head)}\s*$"))
    cells = page.locator(f"#{table}-table tr", has=header).locator("td")
    return [text.strip() for text in cells.evaluate_all("all => all.map(one => one.firstChild.textContent)")]
