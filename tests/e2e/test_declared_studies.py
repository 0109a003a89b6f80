"""Types and a questionnaire of a lab's own, from the uploaded file to the report, with people, a simulator and no line of Python."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e import declared_lab as lab
from tests.e2e.commands import PASSWORD, manage
from tests.e2e.conftest import visitor
from tests.e2e.passages import drag_over, select_with_keys
from tests.installation import Installation

pytestmark = pytest.mark.browser
LAPTOP = {"width": 1366, "height": 900}


@pytest.fixture(scope="module")
def ada(installation: Installation, browser: Browser) -> Iterator[Page]:
    """The researcher's page, for all tests of this file."""
    manage(
        installation, "createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.org",
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
    )  # fmt: skip
    pages = visitor(browser, viewport=LAPTOP)
    page = next(pages)
    lab.log_in(page, installation.url)
    provider = json.loads((installation.data / "servers.json").read_text())["provider_url"]
    lab.endpoint_make(page, installation.url, provider)
    yield page
    next(pages, None)


def people(browser: Browser, link: str, count: int) -> Iterator[tuple[int, Page]]:
    """Annotators, one after the other, each with a browser of their own, at their first question."""
    for number in range(count):
        pages = visitor(browser, viewport=LAPTOP)
        page = next(pages)
        lab.join(page, link)
        yield number, page
        expect(page.locator("h1")).to_have_text("You're done. Thank you.")
        next(pages, None)


def test_pairwise_preference_with_reasons(installation: Installation, browser: Browser, ada: Page) -> None:
    base = installation.url
    lab.upload(ada, base, "pairs")
    lab.study_make(ada, base, "Better replies, with a reason", "Replies")
    requests = ("Where is the key?", "When is lunch?", "Who won?")
    rows = [
        {"request": one, "reply_a": f"The first reply to: {one}", "reply_b": f"The second reply to: {one}"}
        for one in requests
    ]
    lab.material_upload(ada, rows)
    link = lab.launch(ada)
    chosen = dict(zip(requests, (("a", "a", "a"), ("b", "b", "equal"), ("a", "a", "b")), strict=True))
    for number, page in people(browser, link, 3):
        for _ in requests:
            shown = page.locator("form[data-task]").inner_text()
            (asked,) = [one for one in requests if one in shown.split("Reply 1")[0]]
            word = chosen[asked][number]
            better = word if word == "equal" else f"reply_{word}"
            lab.answers_send(page, {"better": better, "why": f"Reason {number} about {asked}"})
    lab.simulate(ada, base, "Replies", 3)
    lab.report_compute(ada, base, "Replies")
    # Of 9 pairs of replies, a was preferred 5 times and b 3 times: the strengths are half of ln(5/3) from 0, and ν is 1/√(5 · 3).
    assert lab.row_of(ada, "agreement-better", "Krippendorff’s α, people") == ["0.304", "9"]
    strength = lab.row_of(ada, "agreement-better_pair", "Strength (log, mean 0) of a")
    assert strength[:2] == ["0.255", "9"]
    ties = lab.row_of(ada, "agreement-better_pair", "Parameter of ties (Davidson’s ν)")
    assert ties[:2] == ["0.258", "9"]
    assert lab.row_of(ada, "agreement-better_pair-comparisons", "a") == ["5", "1", "3"]
    lab.study_open(ada, base, "Replies", "Judgments")
    expect(ada.locator("main")).to_contain_text("Reason 2 about Who won?")


def test_error_spans(installation: Installation, browser: Browser, ada: Page) -> None:
    base = installation.url
    lab.upload(ada, base, "marks")
    lab.study_make(ada, base, "Errors of translations", "Translations")
    rows = [
        {"source": "Die Brücke ist gesperrt.", "translation": "The bridge are closed by high prices."},
        {"source": "Das Brot ist frisch.", "translation": "The bread is fresh."},
    ]
    lab.material_upload(ada, rows)
    link = lab.launch(ada)
    for number, page in people(browser, link, 2):
        for _ in rows:
            if "bread" in page.locator("form[data-task]").inner_text():
                page.get_by_label("No errors").check()
            elif number == 0:
                drag_over(page, "translation", "high", "prices")
                page.get_by_role("combobox").select_option("major")
                page.get_by_role("button", name="Wrong meaning").click()
                drag_over(page, "translation", "are", "are")
                page.get_by_role("combobox").select_option("minor")
                page.get_by_role("button", name="Grammar").click()
                expect(page.get_by_role("listitem")).to_have_count(2)
            else:
                select_with_keys(page, "translation", "high prices")
                page.get_by_role("combobox").select_option("major")
                page.locator("[data-block=translation] .block__text").press("1")
                expect(page.get_by_role("listitem")).to_have_count(1)
            lab.sent(page)
    lab.simulate(ada, base, "Translations", 2)
    lab.report_compute(ada, base, "Translations")
    table = "agreement-errors"
    assert lab.row_of(ada, table, "F1 of pairs of annotators, equal spans")[:2] == ["0.667", "3"]
    assert lab.row_of(ada, table, "Same severity, of equal spans")[:2] == ["100.0", "1"]
    assert lab.row_of(ada, table, "Krippendorff’s α over characters, marked as meaning")[:2] == [
        "1.000",
        "112",
    ]
    # 5 + 1 for two errors, 5 for one of them, and twice nothing.
    assert lab.row_of(ada, "means-errors_score", "All") == ["2.750", "2.500", "4"]


def test_four_criteria_between_two_questionnaires(
    installation: Installation, browser: Browser, ada: Page
) -> None:
    base = installation.url
    lab.upload(ada, base, "criteria")
    lab.upload(ada, base, "reading", "declaredquestionnaire")
    lab.study_make(
        ada, base, "Four criteria of a summary", "Summaries",
        questionnaire_before="reading", questionnaire_after="system_usability",
    )  # fmt: skip
    articles = ("The library closes.", "A swan is back.", "The mayor resigned.")
    lab.material_upload(ada, [{"article": one, "summary": f"In short: {one}"} for one in articles])
    link = lab.launch(ada)
    consistency = dict(zip(articles, (("5", "5"), ("1", "1"), ("5", "1")), strict=True))
    for number, page in people(browser, link, 2):
        (often,) = lab.field_names(page)
        lab.questionnaire_send(page, {often: ("5", "1")[number]})
        for _ in articles:
            shown = page.locator("form[data-task]").inner_text()
            (asked,) = [one for one in articles if one in shown]
            fixed = {"coherence": "4", "relevance": "2", "fluency": str(1 + articles.index(asked))}
            lab.answers_send(page, {**fixed, "consistency": consistency[asked][number]})
        statements = lab.field_names(page)
        assert len(statements) == 10
        agreed = ("3", "3") if number == 0 else ("5", "1")
        lab.questionnaire_send(page, {name: agreed[place % 2] for place, name in enumerate(statements)})
    lab.simulate(ada, base, "Summaries", 3)
    lab.report_compute(ada, base, "Summaries", only="rater:before.reading.practice=100")
    expect(ada.locator("main")).to_contain_text("1 person made 3 judgments that count")
    lab.report_compute(ada, base, "Summaries")
    # Each of two labels was given three times, and the people differ on one item of three: 1 - (1/3) / (3/5).
    assert lab.row_of(ada, "agreement-consistency", "Krippendorff’s α, people") == ["0.444", "6"]
    assert lab.row_of(ada, "agreement-fluency", "Krippendorff’s α, people") == ["1.000", "6"]
    assert "all raters gave the same label" in ada.locator("main").inner_text()
    lab.study_open(ada, base, "Summaries", "Participants")
    ada.locator(".fk-pages-nav").get_by_role("link", name="Questionnaires").click()
    for score, values in (
        ("Practice in reading", "0: 1; 100: 1"),
        ("System Usability Scale, from 0 to 100", "100: 1; 50: 1"),
    ):
        row = ada.get_by_role("row", name=score)
        expect(row).to_contain_text("2 of 2")
        expect(row).to_contain_text(values)
