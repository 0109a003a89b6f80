"""A study is recruited for through the panel's API, from an empty form to published, in a real browser."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.axe import violations
from tests.factories import make_study, make_user
from tests.prolific_api import TOKEN, prolific_api

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_from_an_empty_form_to_published(live_server: Any, page: Page) -> None:
    user = make_user("rosa", staff=True)
    study = make_study(
        by=user, slug="owls", items=4, launched=True, panel="prolific", panel_links="plain", currency="GBP",
        completion_code="DONE", nothing_left_code="NONE", pay_per_item=Decimal("0.50"), summary="Read what a model says.",
    )  # fmt: skip

    def press(name: str) -> None:
        page.get_by_role("button", name=name, exact=True).click()
        assert violations(page, within=".fk", every_rule=True) == [], name

    with prolific_api() as books:
        page.goto(f"{live_server.url}/admin/")
        page.fill("[name=username]", "rosa")
        page.fill("[name=password]", "a-long-password-7")
        page.keyboard.press("Enter")
        expect(page.locator("[name=password]")).to_have_count(0)
        page.goto(f"{live_server.url}/admin/annotator/study/{study.pk}/recruitment/")
        page.fill("[name=token]", TOKEN)
        press("Connect to Prolific")
        expect(page.get_by_text("stored encrypted; last accepted")).to_be_visible()
        assert TOKEN not in page.content()
        page.get_by_role("link", name="Create the study on Prolific").click()
        page.fill("[name=filters]", "Age: 18-40")
        press("Show the cost")
        expect(page.get_by_text("as Prolific calculates it")).to_be_visible()
        assert books.studies == {}
        press("Create the draft")
        press("Set up webhooks")
        press("Publish")
        [there] = books.studies.values()
        assert there["status"] == "ACTIVE"
        assert there["filters"] == [{"filter_id": "age", "selected_range": {"lower": 18, "upper": 40}}]
        assert all(hook["is_enabled"] for hook in books.hooks.values())
        expect(page.get_by_role("row", name="State")).to_contain_text("live")
