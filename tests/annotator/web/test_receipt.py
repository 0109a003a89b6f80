"""A request for deletion has a receipt, which needs no login; the ends that a panel declares say what they mean."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotator.models import DataRequest, Study, User
from annotator.services.erasure import data_request_carry_out, data_request_decline
from annotator.services.panel_events import event_apply
from tests.bot import Bot
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def text_of(page: Any) -> str:
    return html.unescape(page.content.decode())


def asked(study: Study) -> tuple[Bot, str]:
    """A guest who has asked for deletion after one task, and the path of their receipt."""
    bot = Bot(study)
    bot.tasks(bot.instructions(bot.join()), most=1)
    page = bot.post(bot.path + "message/", {"kind": "deletion"})
    assert "Keep the address of your receipt" in text_of(page)
    found = re.search(r'href="http://testserver(/receipt/[^"]+)"', page.content.decode())
    assert found
    return bot, found[1]


def test_a_receipt_says_what_becomes_of_a_request_without_a_login() -> None:
    study = make_study(items=3, launched=True, title="Owls", contact="rita@lab.example")
    _, path = asked(study)
    page = text_of(Client().get(path))
    for words in ("You asked for your data to be deleted", "Owls", "Everything, until", "rita@lab.example"):
        assert words in page
    request = DataRequest.objects.get()
    assert request.rater is not None
    for person in (request.rater.name, "A-"):
        assert person not in page
    data_request_decline(request=request, by=make_user("ada", staff=True), note="We must keep it.")
    page = text_of(Client().get(path))
    assert "Your data was not deleted" in page
    assert "We must keep it." in page


@pytest.mark.parametrize("policy", Study.ErasurePolicy.values)
def test_an_erased_guest_gets_the_receipt_instead_of_the_log_in(policy: str) -> None:
    study = make_study(items=3, launched=True, erasure_policy=policy)
    bot, path = asked(study)
    data_request_carry_out(request=DataRequest.objects.get(), by=None)
    assert not User.objects.filter(is_staff=False).exists()
    for address in ("/me/", bot.path, bot.path + "task/", bot.path + "done/"):
        page = bot.get(address)
        # The address is signed with the time at which it was made: only the request in it is the same.
        assert page.request["PATH_INFO"].partition(":")[0] == path.partition(":")[0], address
        assert "Your data was removed" in text_of(page)
        assert ("None of your answers" in text_of(page)) == (policy == "delete")
        assert "counts towards your pay" not in text_of(page)
    assert "You're not logged in" in text_of(Client().get(bot.path)), "another browser"


def test_an_account_that_goes_on_still_logs_in() -> None:
    first, second = make_study(items=2, launched=True), make_study(items=2, launched=True)
    bot, path = asked(first)
    bot.post(f"/join/{second.join_token}/", {})
    data_request_carry_out(request=DataRequest.objects.get(), by=None)
    assert "Your data was removed" in text_of(bot.get(path))
    assert bot.get("/me/").request["PATH_INFO"] == "/me/"
    bot.client.logout()
    assert bot.get("/me/").request["PATH_INFO"] == "/login/"


@pytest.mark.parametrize("path", ["/receipt/x/", "/receipt/MQ:1a:abc/"])
def test_an_invented_receipt_is_not_found(path: str) -> None:
    asked(make_study(items=2, launched=True))
    assert Client().get(path).status_code == 404


@pytest.mark.parametrize(
    ("status", "happened", "pay"),
    [
        ("RETURNED", "You returned your submission.", "pays nothing for a submission that was returned"),
        ("TIMED OUT", "The time that Prolific gives for a submission ran out.", "send them the code"),
        ("REJECTED", "The researchers rejected your submission on Prolific.", "unless the researchers change their decision"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("done", [0, 1])
def test_an_end_at_the_panel_says_what_happened_and_what_is_paid(
    status: str, happened: str, pay: str, done: int
) -> None:
    study = make_study(items=3, launched=True)
    bot = Bot(study)
    bot.tasks(bot.instructions(bot.join()), most=done)
    person = bot.participation
    person.recruiter, person.recruiter_id = "prolific", "p1"
    person.save()
    event_apply(participation=person, status=status, at=timezone.now())
    for path in (bot.path, bot.path + "left/"):
        page = text_of(bot.get(path))
        assert happened in page
        assert "You returned it, or its time ran out" not in page
        assert (pay in page) == bool(done)
        assert ("What you submitted is kept" in page) == bool(done)
