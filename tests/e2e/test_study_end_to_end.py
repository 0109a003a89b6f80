"""A researcher and three annotators complete a study, from import to the exported report, on the processes of `make run`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from foretell import env
from tests.e2e import keyboard
from tests.e2e.commands import PASSWORD, manage
from tests.e2e.conftest import visitor
from tests.installation import Installation

pytestmark = pytest.mark.browser
STARTERS = ("Can owls fly?", "Can ducks swim?", "Can bats see?")


def material() -> bytes:
    rows = []
    for number, question in enumerate(STARTERS):
        for follow in range(2):
            row = {
                "question": question,
                "explanation": f"All of them can. Rule {number}. So the answer is yes.",
                "answer": "yes",
                "follow_up": f"{question[:-1]} in winter, case {follow}?",
                "real_output": "yes" if follow else "no",
                "system": "robot-a",
                "model": "robot-a",
                "method": "post-hoc",
            }
            rows.append(json.dumps(row))
    return "\n".join(rows).encode()


def log_in(page: Page, base: str) -> None:
    page.goto(f"{base}/admin/")
    page.fill("[name=username]", "ada")
    page.fill("[name=password]", PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Judgments")).to_be_visible()


def make_study(page: Page, base: str) -> str:
    """From the template to the launch; returns the link for annotators."""
    page.goto(f"{base}/admin/annotator/study/add/")
    page.check("[name=template][value=simulation]")
    page.fill("[name=title]", "Owls and others")
    page.fill("[name=slug]", "owls")
    page.click("[name=_save]")
    page.click(".steps a:has-text('Import material')")
    file = {"name": "owls.jsonl", "mimeType": "application/x-ndjson", "buffer": material()}
    page.set_input_files("[name=file]", file)
    page.click("button:has-text('Check')")
    expect(page.get_by_role("heading", name="owls.jsonl: ")).to_be_visible()
    page.click("button[name=import]")
    expect(page.get_by_text("Ready to launch")).to_be_visible()
    page.click(".fk-pages-nav a:has-text('Preview as an annotator')")
    expect(page.get_by_role("heading", name="The robot's explanation")).to_be_visible()
    page.go_back()
    page.click(".steps a:has-text('Launch')")
    page.click("button:has-text('Launch')")
    link = page.get_by_label("Join link")
    expect(link).to_be_visible()
    return link.input_value()


def simulate(page: Page, base: str, provider: str) -> None:
    """Create an endpoint and a run, check its estimate, and follow its progress on the live page."""
    page.goto(f"{base}/admin/evaluation/endpoint/add/")
    page.fill("[name=name]", "scripted")
    page.fill("[name=base_url]", provider)
    page.fill("[name=model]", "scripted")
    page.click("[name=_save]")
    page.goto(f"{base}/admin/annotator/study/")
    page.click("a:has-text('Owls and others')")
    page.click(".fk-tabs a:has-text('Simulators')")
    page.click("a:has-text('Run a simulator')")
    page.select_option("[name=endpoint]", label="scripted")
    page.click("[name=_save]")
    expect(page.get_by_text("Nothing has been sent.")).to_be_visible()
    page.click("#run-progress button:has-text('Start')")
    done = f"Done: {2 * len(STARTERS)} of {2 * len(STARTERS)} calls"
    expect(page.get_by_role("heading", name=done)).to_be_visible(timeout=120_000)


def annotate(page: Page, link: str, answers: list[tuple[str, str]]) -> None:
    """Invitation to completion; the exam's answers are looked up as a person would know them."""
    page.goto(link)
    page.click("button:has-text('Start')")
    page.click("button[value=agree]")
    page.click("button:has-text('Continue')")
    kind_answers = right_by_follow_up()
    while "/practice/" in page.url:
        keyboard.wait_ready(page)
        answer_as(page, kind_answers, "")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Correct")
        with page.expect_navigation():
            page.keyboard.press("Enter")
    keyboard.wait_ready(page)
    wanted = {}
    for section in page.locator("section.quiz").all():
        number = (section.get_attribute("id") or "").removeprefix("question-")
        gold = next(gold for text, gold in kind_answers.items() if text in section.inner_text())
        wanted |= {f"q{number}-{name}": value for name, value in gold.items()}
    keyboard.answer(page, wanted)
    with page.expect_navigation():
        keyboard.submit(page)
    page.click("a:has-text('Start the tasks')")
    done = 0
    while "/task/" in page.url:
        keyboard.wait_ready(page)
        helpful, answer = answers[done % len(answers)]
        task = page.locator("form[data-task]").get_attribute("data-task")
        keyboard.answer(page, {"helpful": helpful, "answer": answer})
        keyboard.submit(page)
        page.wait_for_function(
            "task => document.querySelector('form[data-task]')?.dataset.task !== task", arg=task
        )
        page.wait_for_load_state()
        done += 1
    expect(page.locator("h1")).to_have_text("You're done. Thank you.")
    assert done == 2 * len(STARTERS)


def right_by_follow_up() -> dict[str, dict[str, str]]:
    """The follow-up question of each practice and exam question -> its right answer."""
    folder = env.ROOT / "annotator" / "hit_types" / "simulation"
    found = {}
    for name in ("practice.json", "exam.json"):
        for question in json.loads((folder / name).read_text(encoding="utf-8")):
            found[question["payload"]["follow_up"]] = question["gold"]
    return found


def answer_as(page: Page, known: dict[str, dict[str, str]], prefix: str) -> None:
    text = page.locator("main").inner_text()
    gold = next(gold for follow_up, gold in known.items() if follow_up in text)
    keyboard.answer(page, {f"{prefix}{name}": value for name, value in gold.items()})


def test_a_study_from_import_to_the_exported_report(
    installation: Installation, browser: Browser, tmp_path: Path
) -> None:
    base = f"http://127.0.0.1:{installation.port}"
    manage(
        installation, "createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.org",
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
    )  # fmt: skip
    researcher_pages = visitor(browser, viewport={"width": 1366, "height": 900}, accept_downloads=True)
    page = next(researcher_pages)
    log_in(page, base)
    link = make_study(page, base)
    for answers in ([("yes", "yes")], [("yes", "yes"), ("yes", "no")], [("yes", "yes"), ("no", "")]):
        person = visitor(browser, viewport={"width": 1366, "height": 768})
        annotate(next(person), link, answers)
        next(person, None)

    page.goto(f"{base}/admin/annotator/study/")
    page.click("a:has-text('Owls and others')")
    expect(page.get_by_text("Complete: all 18 places are filled")).to_be_visible()
    simulate(page, base, json.loads((installation.data / "servers.json").read_text())["provider_url"])
    page.goto(f"{base}/admin/annotator/study/")
    page.click("a:has-text('Owls and others')")
    page.click(".fk-tabs a:has-text('Reports')")
    page.get_by_text("Options", exact=True).click()
    page.fill("[name=min_overlap]", "2")
    page.fill("[name=replicates]", "100")
    page.click("button:has-text('Compute')")
    expect(page.get_by_text("P1 Table 3").first).to_be_visible(timeout=120_000)
    shown = page.locator("main").inner_text()
    assert "Krippendorff" in shown
    assert "scripted at 127.0.0.1" in shown
    with page.expect_download() as download:
        page.click("a:has-text('CSV')")
    path = tmp_path / "report.csv"
    download.value.save_as(path)
    text = path.read_text(encoding="utf-8")
    assert "kappa" in text.lower()
    with page.expect_download() as export:
        page.goto(f"{base}/admin/annotator/study/")
        page.click("a:has-text('Owls and others')")
        page.click(".fk-tabs a:has-text('Judgments')")
        page.click("a:has-text('CSV')")
    judgments = Path(export.value.path()).read_text(encoding="utf-8")
    assert len(judgments.splitlines()) == 1 + (3 + 1) * 2 * len(STARTERS)  # three people and a simulator
    next(researcher_pages, None)
    assert os.path.exists(installation.data)
