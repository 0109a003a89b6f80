"""The notice of changed instructions, in a browser: answers stay, and the focus moves to the task."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotator.models import Participation
from annotator.services.study import study_update
from tests.e2e.tasks import begin, choose
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_confirming_the_change_keeps_the_answer_and_moves_the_focus(live_server: Any, page: Page) -> None:
    study = make_study(items=3, launched=True, instructions_text="## Your task\n\nGuess.")
    begin(page, live_server.url, study)
    study_update(study=study, instructions_text="## Your task\n\nGuess the answer.")
    page.reload()
    notice = page.get_by_role("region", name="Changed instructions")
    expect(notice).to_contain_text("The instructions have changed since you read them.")
    page.get_by_text("What changed").click()
    expect(notice.locator("ins")).to_have_text("Guess the answer.")
    page.locator("h1").focus()
    choose(page, "1")
    page.get_by_role("button", name="I've read the changes").click()
    expect(notice).to_have_count(0)
    expect(page.locator("[data-heading]")).to_be_focused()
    expect(page.locator("form[data-task] input:checked")).to_have_count(1)
    assert Participation.objects.get().instructions_seen_id == study.snapshots.get(number=2).pk
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved")).to_be_visible()
    expect(notice).to_have_count(0)
