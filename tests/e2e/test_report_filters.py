"""In a real browser: a report limited to a part of the study, from the form to the items that two raters disagree on."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotator.models import Item
from annotator.services.workspace import workspace_personal
from evaluation.models import Report
from evaluation.services.report import report_compute
from tests.e2e.axe import violations
from tests.evaluation.reports.studies import small_study
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_report_on_ticked_values_links_to_disagreements(
    live_server: Any, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotator.core.jobs.enqueue", lambda name, **about: report_compute(**about))
    rosa = make_user("rosa", staff=True)
    study = small_study(by=rosa, workspace=workspace_personal(user=rosa))
    for number, item in enumerate(study.items.order_by("pk")):
        Item.objects.filter(pk=item.pk).update(attributes={"topic": "cars" if number == 2 else "birds"})
    page.goto(f"{live_server.url}/admin/")
    page.fill("[name=username]", "rosa")
    page.fill("[name=password]", "a-long-password-7")
    page.keyboard.press("Enter")
    expect(page.locator("[name=password]")).to_have_count(0)

    page.goto(f"{live_server.url}/studies/{study.pk}/reports/")
    page.get_by_text("Options", exact=True).click()
    expect(page.get_by_label("Groups by")).to_contain_text("topic (2 values)")
    page.get_by_text("topic", exact=False).filter(has_text="2 values").last.click()
    page.get_by_label("birds").check()
    page.get_by_label("Minimum shared units per pair").fill("1")
    page.get_by_label("Bootstrap replicates").fill("0")
    assert violations(page, every_rule=True) == []
    page.click("button:has-text('Compute report')")
    expect(page.locator(".report__cuts")).to_contain_text("topic: birds")
    assert Report.objects.get().choices["only"] == "topic=birds"
    assert violations(page, every_rule=True) == []

    page.locator("#agreement a[title='The items on which they disagree']").first.click()
    expect(page.get_by_role("heading", name="Where ann and bob disagree")).to_be_visible()
    expect(page.locator("article h3")).to_have_count(1)
    expect(page.locator("article h3")).to_contain_text("ya2")
