"""Adjudication in a browser: two people label a contested item by keys, blind to each other; a third settles it."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect

from annotator.models import Adjudication, Membership, Study
from annotator.services.adjudication import adjudicated_to_gold
from tests.e2e import keyboard
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def log_in_as(page: Page, study: Study, name: str, address: str) -> None:
    user = make_user(name, staff=True)
    Membership.objects.create(study=study, user=user, role="reviewer")
    client = Client()
    client.force_login(user)
    page.context.clear_cookies()
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": address}])


def test_two_people_by_keys_and_a_third_for_the_tie(live_server: Any, page: Page) -> None:
    owner = make_user("rosa", staff=True)
    study = make_study(by=owner, title="Owls")
    for number in range(2):
        item = make_item(study, key=f"item-{number}")
        for name, answer in (("ann", "yes"), ("ben", "no")):
            make_judgment(item, make_rater(name), answer)
    queue = f"{live_server.url}/admin/annotator/study/{study.pk}/adjudication/"

    def labels(answer: str) -> None:
        """The explanation helps, and then the answer is yes (3) or no (4), by their keys."""
        expect(page.get_by_text("Annotators answered:")).to_be_visible()
        keyboard.wait_ready(page)
        before = Adjudication.objects.count()
        page.keyboard.press("2")
        page.keyboard.press(answer)
        with page.expect_navigation():
            page.keyboard.press("Enter")
        expect(page.get_by_text("Label saved.")).to_be_visible()
        assert Adjudication.objects.count() == before + 1

    log_in_as(page, study, "one", live_server.url)
    page.goto(queue)
    page.get_by_role("link", name="Label the first item").click()
    labels("3")
    keyboard.wait_ready(page)
    page.keyboard.press("u")
    expect(page.get_by_text("Label undone.")).to_be_visible()
    labels("3")
    labels("3")
    expect(page).to_have_url(f"{queue}?order=entropy")

    log_in_as(page, study, "two", live_server.url)
    page.goto(queue)
    page.get_by_role("link", name="Label the first item").click()
    assert "one" not in page.locator("main").inner_text().split(), "adjudicators don't see each other"
    labels("3")
    labels("4")

    log_in_as(page, study, "three", live_server.url)
    page.goto(queue)
    expect(page.get_by_text("Third person, after a tie")).to_be_visible()
    page.get_by_role("link", name="Label the first item").click()
    labels("4")
    in_force = Adjudication.objects.filter(undone_at=None).order_by("item", "seat")
    assert [row.seat for row in in_force] == [1, 2, 1, 2, 3]
    _, copied = adjudicated_to_gold(study=study, by=owner, slug="owls-gold", title="Owls, with gold")
    assert copied == 2
