"""The researchers' pages in a real browser: accessible, no policy violation, no script error, hostile text shown as text."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotator.models import Item
from tests.e2e.axe import violations
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NASTY = "<img src=x onerror=alert(1)>"


def axe(page: Page) -> list[str]:
    return violations(page, within=".fk", every_rule=True)


def test_import_by_columns_and_every_page_of_a_study(live_server: Any, page: Page) -> None:
    user = make_user("rosa", staff=True)
    draft, full = (
        make_study(by=user, slug="draft"),
        make_study(by=user, slug="full", panel="prolific", panel_links="plain"),
    )
    judgment = make_judgment(make_item(full, key=NASTY), make_rater(NASTY))
    page.goto(f"{live_server.url}/admin/")
    page.fill("[name=username]", "rosa")
    page.fill("[name=password]", "a-long-password-7")
    page.keyboard.press("Enter")
    expect(page.locator("[name=password]")).to_have_count(0)
    root = f"{live_server.url}/admin/annotator/study"

    page.goto(f"{root}/{draft.pk}/import/")
    assert axe(page) == []
    text = f"Input.question,explanation,robot,follow_up\nOwls?,Birds.,no,{NASTY}\n"
    page.set_input_files("[name=file]", {"name": "hits.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.click("button:has-text('Check')")
    expect(page.get_by_text("this column is missing")).to_be_visible()
    page.select_option("[name='column-answer']", "robot")
    page.click("button[name=look]")
    expect(page.get_by_role("heading", name="hits.csv: 1 item from 1 row")).to_be_visible()
    expect(page.get_by_text(NASTY)).to_be_visible()
    assert axe(page) == []
    page.click("button[name=import]")
    page.wait_for_url("**/live/")
    assert Item.objects.get(study=draft).payload["answer"] == "no"

    for name in (
        "live", "change", "recruitment", "participants", "payments", "rehearsal", "members", "contested", "versions", "audit", "requests", "manage", "simulators", "duplicate",
        "items", f"items/{judgment.item_id}", f"items/{judgment.item_id}/edit", "judgments", f"judgments/{judgment.pk}", "raters", "exclusions", "exports",
        f"exclude/rater/{judgment.rater_id}", "import-judgments",
    ):  # fmt: skip
        page.goto(f"{root}/{full.pk}/{name}/")
        assert axe(page) == [], name
    page.goto(f"{root}/api-token/")
    page.fill("[name=name]", "nightly import")
    page.click("button[name=make]")
    expect(page.get_by_label("Token", exact=True)).to_be_visible()
    assert axe(page) == []
