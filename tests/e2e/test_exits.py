"""Each way out of a study, in the browser of somebody who came by a plain or a signed link of Prolific."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from annotator.models import Participation, Study
from annotator.services.rehearsal.fill import right_answers
from annotator.services.study import study_close, study_pause
from tests.annotator.web.exits import CODES, EXAM, fill
from tests.bot import Bot
from tests.e2e import keyboard
from tests.factories import make_study
from tests.prolific_server import STUDY, Prolific, prolific_trusted

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def prolific() -> Iterator[Prolific]:
    with prolific_trusted() as found:
        yield found


class Visit:
    """Somebody who opens a study from Prolific."""

    def __init__(self, page: Page, base: str, prolific: Prolific, *, signed: bool):
        self.page, self.base, self.prolific, self.signed = page, base, prolific, signed

    def join(self, **fields: Any) -> Study:
        values: dict[str, Any] = {
            "items": 3,
            "launched": True,
            "redundancy": 2,
            "pay_per_item": "0.50",
        } | CODES
        links = {
            "panel": "prolific",
            "panel_links": "signed" if self.signed else "plain",
            "panel_study_ids": STUDY,
        }
        study = make_study(**values | links | fields)
        path = f"/join/{study.join_token}/"
        query = f"PROLIFIC_PID=p1&STUDY_ID={STUDY}&SESSION_ID=s1"
        if self.signed:
            query = self.prolific.query("p1", path=path, host=urlsplit(self.base).netloc, submission="s1")
        self.page.goto(f"{self.base}{path}?{query}")
        self.page.get_by_role("button", name="Start").click()
        self.page.wait_for_url("**/study/**")
        return study

    def work(self, tasks: int = 1) -> None:
        self.page.get_by_role("button", name="Continue").click()
        for _ in range(tasks):
            expect(self.page.locator("form[data-task]")).to_be_visible()
            keyboard.wait_ready(self.page)
            task = self.page.locator("form[data-task]").get_attribute("data-task")
            self.page.keyboard.press("4")
            self.page.keyboard.press("Enter")
            expect(self.page.locator(f'form[data-task="{task}"]')).to_have_count(0)

    def ends_with(self, code: str, pay: str) -> None:
        """The page where the work ends, and the person's own page."""
        for there in ("", "/me/"):
            if there:
                self.page.goto(self.base + there)
            back = self.page.get_by_role("link", name="Return to Prolific")
            expect(back).to_be_visible()
            assert back.get_attribute("href") == f"https://app.prolific.com/submissions/complete?cc={code}"
            expect(self.page.locator(".code")).to_have_text(code)
            expect(self.page.locator("main")).to_contain_text(pay)


@pytest.fixture(params=["plain", "signed"])
def visit(request: pytest.FixtureRequest, live_server: Any, page: Page, prolific: Prolific) -> Visit:
    return Visit(page, live_server.url, prolific, signed=request.param == "signed")


def test_finished(visit: Visit) -> None:
    visit.join(items=1)
    visit.work()
    visit.ends_with("DONE-1", "You've earned 0.50 USD.")


def test_part_done(visit: Visit) -> None:
    visit.join()
    visit.work()
    keyboard.wait_ready(visit.page)
    visit.page.locator("[data-menu] > summary").click()
    visit.page.get_by_text("End here and get my code").click()
    visit.page.get_by_role("button", name="End here").click()
    visit.ends_with("PART-4", "You've earned 0.50 USD for what you submitted.")


def test_declined(visit: Visit) -> None:
    visit.join(consent_text="Agree?")
    visit.page.get_by_role("button", name="I don't want to take part").click()
    visit.page.get_by_role("button", name="I don't want to take part").click()
    visit.ends_with("NO-5", "You submitted no tasks, so there is no pay for tasks.")


def test_failed(visit: Visit) -> None:
    study = visit.join(**EXAM)
    page = visit.page
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("form").first).to_be_visible()
    page.wait_for_url("**/exam/")
    person = Participation.objects.get(study=study)
    bot = Bot(study)
    drawn = person.exam_attempts.get().drawn
    wrong = {key: bot.wrong(key) for key in right_answers(person, drawn)}
    chosen = [[f"q{n}-{name}", value] for n, key in enumerate(drawn, 1) for name, value in wrong[key].items()]
    page.evaluate(
        "chosen => { for (const [name, value] of chosen) document.querySelector(`[name='${name}'][value='${value}']`).click() }",
        chosen,
    )
    page.locator("main form [type=submit]").last.click()
    page.wait_for_url("**/exam/result/")
    visit.ends_with("FAILED-2", "You submitted no tasks")


def test_no_task(visit: Visit) -> None:
    study = visit.join(redundancy=1)
    fill(study)
    visit.page.goto(f"{visit.base}/study/{study.slug}/")
    visit.ends_with("NONE-3", "You submitted no tasks")


@pytest.mark.parametrize("stop", [study_pause, study_close])
def test_stopped(visit: Visit, stop: Callable[..., Any]) -> None:
    study = visit.join()
    stop(study=study)
    visit.page.get_by_role("button", name="Continue").click()
    visit.ends_with("STOP-6", "You submitted no tasks")
