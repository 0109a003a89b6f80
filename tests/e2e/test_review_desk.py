"""The review desk in a browser: sixty submissions decided by keys alone, some of them selected, undone, rejected and given a bonus."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page

from annotator.models import Message, ReviewDecision
from annotator.services.study import study_launch
from tests.annotator.desk_people import NO, item_answer, people_make, work_make
from tests.e2e.axe import violations
from tests.factories import make_item, make_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PEOPLE = 60


def test_sixty_submissions_are_decided_by_keys(live_server: Any, page: Page) -> None:
    user = make_user("rosa", staff=True)
    study = make_study(by=user, title="Owls", pay_per_item="0.10")
    for number in range(3):
        make_item(study, key=f"plain-{number}")
    for number in range(2):
        make_item(
            study, key=f"attention-{number}", role="attention", gold={"helpful": "yes", "answer": "yes"}
        )
    study_launch(study=study)
    study.refresh_from_db()
    people = people_make(study, [f"person-{number:02}" for number in range(PEOPLE)])
    work_make(
        study,
        people,
        lambda n, item: (NO if n == 7 and item.role == "attention" else item_answer(item), 9.0, {}),
    )
    client = Client()
    client.force_login(user)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}]
    )
    page.goto(f"{live_server.url}/admin/annotator/study/{study.pk}/desk/")
    assert violations(page, within=".fk", every_rule=True) == []

    def here() -> str:
        return page.locator("#person-title").inner_text()

    def swapped() -> None:
        page.wait_for_function("() => !document.querySelector('#desk-page[aria-busy]')")

    def press(key: str) -> None:
        page.keyboard.press(key)
        swapped()

    assert here() == "person-07", "who has a sign is first"
    press("j")
    press("k")
    assert here() == "person-07"

    page.keyboard.press("m")  # a message, which decides nothing
    page.keyboard.press("Tab")
    page.keyboard.type("Did you read the checks? a b x")
    press("Control+Enter")
    assert Message.objects.get().text == "Did you read the checks? a b x", "keys in a field are text"

    press("k")
    page.keyboard.press("b")
    page.keyboard.type("0.50")
    page.keyboard.press("Enter")  # in a field, Enter decides nothing
    page.keyboard.press("Tab")
    page.keyboard.type("Careful notes.")
    press("Control+Enter")
    assert ReviewDecision.objects.get().bonus is not None

    press("a")
    press("u")  # undone: they wait again
    assert page.locator(".desk-row").count() == PEOPLE - 1
    page.keyboard.press("s")
    assert page.locator("[data-selected]").inner_text() == "1 selected person"
    page.locator(".desk-row input").nth(0).check()
    page.locator(".desk-row input").nth(1).check()
    assert page.locator("[data-selected]").inner_text() == "2 selected people"
    press("a")
    assert ReviewDecision.objects.filter(in_force=True).count() == 3
    for _ in range(PEOPLE - 3):
        press("a")
    assert ReviewDecision.objects.filter(in_force=True, kind="accept").count() == PEOPLE
    assert page.get_by_text("Everything is decided.").is_visible()
