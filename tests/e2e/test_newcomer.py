"""A new researcher's path in a browser, on the processes of `make run`: from a CSV with mistakes to paid, corrected data.

It uses only what the pages offer. Every page on the way is checked with axe, and on a phone for horizontal scrolling.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e import keyboard
from tests.e2e.axe import violations
from tests.e2e.commands import PASSWORD, manage
from tests.e2e.conftest import LAPTOP, visitor
from tests.installation import Installation

pytestmark = pytest.mark.browser
QUESTIONS = ("Can owls fly?", "Can ducks swim?", "Can bats see?")
#: What a viewer may send: a copy of the study for themselves, exports and log-out.
VIEWERS_FORMS = ("/duplicate/", "/exports/", "/logout/")


def csv(*, mistakes: bool) -> bytes:
    """Six rows, optionally with three mistakes: a wrong column name, an unknown answer, an empty follow-up."""
    lines = [f"{'starter' if mistakes else 'question'},explanation,answer,follow_up,real_output,system"]
    for number, question in enumerate(QUESTIONS):
        for case in range(2):
            answer = "Maybe" if mistakes and (number, case) == (1, 1) else "yes"
            follow_up = "" if mistakes and (number, case) == (2, 0) else f"{question[:-1]} in case {case}?"
            real = "no" if case else "yes"
            lines.append(f'{question},"All can, by rule {number}.",{answer},{follow_up},{real},robot-a')
    return "\n".join(lines).encode()


class Researcher:
    """A person who reads pages and uses the buttons and links on them. ``look`` checks the current page."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        page.set_default_timeout(120_000)  # milliseconds; a busy machine is slow

    def log_in(self, name: str) -> None:
        self.page.goto(f"{self.base}/admin/")
        self.page.fill("[name=username]", name)
        self.page.fill("[name=password]", PASSWORD)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def tab(self, name: str, page: str = "") -> None:
        """A tab of the study, and a page under it."""
        with self.page.expect_navigation():
            self.page.click(f".fk-tabs a:text-is('{name}')")
        if page:
            with self.page.expect_navigation():
                self.page.click(f".fk-pages-nav a:text-is('{page}')")
        self.look()

    def press(self, words: str, *, within: Locator | None = None) -> None:
        """A button or link that leads to another page."""
        where = within or self.page.locator("main")
        found = where.get_by_role("button", name=words, exact=True).or_(
            where.get_by_role("link", name=words, exact=True)
        )
        with self.page.expect_navigation():
            found.first.click()
        self.look()

    def look(self) -> None:
        self.page.wait_for_load_state()
        found = violations(self.page, within="main", every_rule=True)
        assert found == [], (self.page.url, found)
        self.page.set_viewport_size({"width": 390, "height": 844})
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        self.page.set_viewport_size(LAPTOP)
        assert wide <= 390, (self.page.url, f"{wide} pixels wide on a phone")

    def reads(self, *texts: str) -> None:
        for text in texts:
            expect(self.page.locator("main")).to_contain_text(text, timeout=120_000)

    def steps(self) -> dict[str, str]:
        """The steps of a draft: title -> mark."""
        marks = self.page.locator(".steps__mark").all_inner_texts()
        return dict(zip(self.page.locator(".steps__title").all_inner_texts(), marks, strict=True))


def prepare(one: Researcher) -> None:
    """A new study from a template, and its material after three mistakes."""
    page = one.page
    one.press("New study")
    page.fill("[name=title]", "Owls and others")
    one.press("Create study")
    one.reads("Choose what annotators are asked.")
    page.get_by_label("Counterfactual simulation, yes/no questions").check()
    one.press("Create study")
    one.reads("Still to do: material.")
    assert one.steps() == {
        "Material": "To do", "Texts": "Optional", "Preview": "Later", "Exam": "Done", "Pay": "Done",
        "Rehearsal": "Later", "Launch": "Later",
    }  # fmt: skip
    one.press("Import material", within=page.locator(".steps"))
    with page.expect_download() as sample:
        page.click("a:has-text('Download a sample file')")
    assert sample.value.suggested_filename == "simulation-sample.jsonl"

    file = {"name": "owls.csv", "mimeType": "text/csv", "buffer": csv(mistakes=True)}
    page.set_input_files("[name=file]", file)  # type: ignore[arg-type]
    one.press("Check file")
    one.reads("this column is missing")
    page.select_option("[name=column-question]", "starter")
    one.press("Check again")
    one.reads("owls.csv has 2 problems", "'Maybe' is not one of: yes, no", "is missing")
    one.press("Choose another file")
    file["buffer"] = csv(mistakes=False)
    page.set_input_files("[name=file]", file)  # type: ignore[arg-type]
    one.press("Check file")
    one.reads("owls.csv: 6 items from 6 rows", "Can owls fly in case 0?")
    one.press("Import 6 items")
    one.reads("Ready to launch")


def set_up(one: Researcher) -> None:
    """The texts and the pay. An error is shown at its field, and the other entries stay."""
    page = one.page
    one.press("Write the texts")
    page.fill("[name=summary]", "Say what a robot will answer.")
    page.fill("[name=contact]", "Ada, ada@example.org")
    page.fill("[name=pay_per_item]", "-1")
    page.uncheck("[name=exam_required]")
    page.uncheck("[name=practice_required]")
    page.fill("[name=min_seconds]", "0")
    page.fill("[name=undo_seconds]", "0")
    one.press("Save")
    one.reads("Not saved. Fix the errors below.")
    expect(page.locator("#id_pay_per_item_error")).to_be_visible()
    expect(page.locator("[name=contact]")).to_have_value("Ada, ada@example.org")
    page.fill("[name=pay_per_item]", "0.50")
    one.press("Save")
    one.reads("Settings saved.")


def rehearse(one: Researcher) -> None:
    """A rehearsal with numbers in its report, which is then cleared completely."""
    page = one.page
    one.tab("Overview", "Rehearsal")
    page.fill("[name=raters]", "4")
    one.press("Start")
    one.reads("18 of 18 rehearsal places are filled; the rehearsal has finished")
    one.press("Reports")
    one.press("Compute report")
    one.reads("This is a rehearsal", "4 rehearsal raters made 18 judgments", "Simulation precision by system")
    one.tab("Overview", "Rehearsal")
    one.press("Clear the rehearsal")
    one.reads("Rehearsal cleared: 18 judgments removed.", "Start a rehearsal")
    one.tab("Judgments")
    one.reads("No judgments")


def launch(one: Researcher) -> str:
    """Returns the link for annotators."""
    one.tab("Overview")
    one.press("Launch", within=one.page.locator(".steps"))
    one.reads("6 items × 3 raters = 18 judgments", "9.00 USD in total")
    one.press("Launch")
    one.reads("The study is live.", "Annotators can join with this link:")
    return one.page.get_by_label("Join link").input_value()


def take_part(page: Page, link: str, answer: str) -> None:
    """A participant answers all six items alike."""
    page.goto(link)
    page.click("button:has-text('Start')")
    page.click("button[value=agree]")
    page.click("button:has-text('Continue')")
    while "/task/" in page.url:
        keyboard.wait_ready(page)
        task = page.locator("form[data-task]").get_attribute("data-task")
        keyboard.answer(page, {"helpful": "yes", "answer": answer})
        keyboard.submit(page)
        page.wait_for_function(
            "task => document.querySelector('form[data-task]')?.dataset.task !== task", arg=task
        )
        page.wait_for_load_state()
    expect(page.locator("h1")).to_have_text("You're done. Thank you.")
    expect(page.locator("main")).to_contain_text("3.00 USD")


def correct(one: Researcher) -> None:
    """One item gets a corrected version, another is withdrawn."""
    page = one.page
    one.tab("Items")
    with page.expect_navigation():
        page.locator("main table a").first.click()
    one.press("Correct…")
    page.get_by_label("question", exact=False).first.fill("Can owls fly at night?")
    page.fill("[name=reason]", "The question was not precise.")
    one.press("Save as a new version")
    one.reads("Can owls fly at night?", "Version 2; it replaces")
    one.tab("Items")
    with page.expect_navigation():
        page.locator("main table a:not(:has-text('.v2'))").last.click()
    one.press("Withdraw…")
    page.fill("[name=reason]", "The explanation has a typo.")
    one.press("Withdraw")
    one.reads("Withdrawn on", "The explanation has a typo.")


def review(one: Researcher) -> None:
    """Contested items, the exclusion of a rater who guessed, and what is owed to all three."""
    page = one.page
    one.tab("Review", "Contested items")
    one.reads("2 answers from 3 raters")
    guesser = page.locator(".fk-item tr", has_text="No").first.locator("a").inner_text()
    with page.expect_navigation():
        page.locator(".fk-item h3 a").first.click()
    one.look()
    one.tab("Participants")
    row = page.locator("tr", has_text=guesser)
    one.press("exclude…", within=row)
    page.fill("[name=reason]", "Always answered no.")
    one.press("Exclude")
    one.tab("Review", "Contested items")
    one.reads("No item has two different answers yet.")
    one.tab("Review", "Exclusions")
    one.reads("Always answered no.")

    one.tab("Participants", "Payments")
    one.reads("0.00 USD", "9.00 USD", "for 18 judgments")
    one.press("Accept all work…")
    one.reads("Accept 12 judgments?", "Left out: 1 participant whom you excluded")
    page.check("[name=excluded]")
    one.press("Accept")
    one.reads("18 judgments accepted.")
    page.fill("[name=reference]", "batch-1")
    one.press("Mark everybody who is owed as paid…")
    one.reads("Mark 3 participants as paid?", "9.00 USD")
    one.press("Mark as paid")
    one.reads("Recorded 9.00 USD as paid to 3 participants.", "batch-1")
    one.tab("Settings", "Versions")
    one.reads("From version 2 to version 3")


def end(one: Researcher) -> None:
    """Duplicate, close, archive, delete and restore."""
    page = one.page
    one.tab("Settings", "Duplicate, archive, delete")
    one.press("Duplicate…")
    one.press("Duplicate")
    one.reads("“Owls and others (copy)” has been created as a draft.", "5 items imported.")
    one.press("Studies")
    one.press("Owls and others")
    one.press("Close")
    one.press("Close")
    one.reads("The study has ended.")
    one.tab("Settings", "Duplicate, archive, delete")
    one.press("Archive")
    one.reads("The study is archived.")
    one.press("Delete…")
    page.fill("[name=typed]", "owls")
    one.press("Delete")
    one.reads("Type the short name of the study, owls-and-others, to delete it.")
    page.fill("[name=typed]", "owls-and-others")
    one.press("Delete")
    one.reads("You can restore it", "Owls and others")


def sees_what_a_viewer_may(viewer: Researcher) -> None:
    """Every tab and every link opens, and no form is shown that would be refused."""
    page = viewer.page
    viewer.reads("your role: viewer")
    study = page.url.partition("/live/")[0]
    seen: set[str] = set()
    for tab in page.locator(".fk-tabs a").all_inner_texts():
        viewer.tab(tab)
        for name in page.locator(".fk-pages-nav a").all_inner_texts() or [""]:
            if (
                name == "Preview as an annotator"
            ):  # outside the frame; its link is among those that are opened below
                continue
            viewer.tab(tab, name)
            for form in page.locator("main form[method=post]").all():
                action = urlsplit(form.get_attribute("action") or page.url).path
                assert action.endswith(VIEWERS_FORMS), (page.url, action)
            links = page.evaluate("[...document.querySelectorAll('main a[href]')].map(one => one.href)")
            seen |= {link.partition("#")[0] for link in links if link.startswith(viewer.base)}
    refused = [link for link in sorted(seen) if page.request.get(link).status >= 400]
    assert refused == [], "links that fail for a viewer"
    assert len(seen) > 40
    for closed in ("import/", "do/close/", "remove/", "payments/bonus/1/", "items/1/withdraw/"):
        assert page.request.get(f"{study}/{closed}").status == 404, closed


def test_from_a_csv_with_mistakes_to_paid_corrected_data(
    installation: Installation, browser: Browser
) -> None:
    base = f"http://127.0.0.1:{installation.port}"
    manage(
        installation, "createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.org",
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
    )  # fmt: skip
    pages = visitor(browser, viewport=LAPTOP, accept_downloads=True)
    ada = Researcher(next(pages), base)
    ada.log_in("ada")
    prepare(ada)
    set_up(ada)
    rehearse(ada)
    link = launch(ada)
    for answer in ("yes", "yes", "no"):
        person = visitor(browser, viewport=LAPTOP)
        take_part(next(person), link, answer)
        next(person, None)
    correct(ada)
    review(ada)

    ada.tab("Members")
    ada.page.select_option("[name=role]", "viewer")
    ada.press("Create invitation")
    invitation = ada.page.get_by_label("Invitation link").input_value()
    colleagues = visitor(browser, viewport=LAPTOP)
    vera = Researcher(next(colleagues), base)
    vera.page.goto(invitation)
    vera.press("Create an account")
    vera.page.fill("[name=username]", "vera")
    for name in ("password1", "password2"):
        vera.page.fill(f"[name={name}]", PASSWORD)
    vera.press("Create account")
    vera.press("Accept")
    sees_what_a_viewer_may(vera)
    next(colleagues, None)
    end(ada)
    next(pages, None)
