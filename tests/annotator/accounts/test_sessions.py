"""Researchers' sessions: their list, the ways to end them, inactivity, and what is left of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.accounts import activity
from annotator.accounts.activity import sessions_sweep
from annotator.models import AuditEntry, User
from tests.factories import make_user

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PAGE = "/two-factor/sessions/"


@pytest.fixture(autouse=True)
def _no_limits_from_before() -> None:
    cache.clear()


@pytest.fixture
def rosa() -> User:
    return make_user("rosa", staff=True)


def logged_in(name: str = "rosa", *, agent: str = FIREFOX) -> Client:
    client = Client(headers={"User-Agent": agent}, REMOTE_ADDR="198.51.100.77")
    reply = client.post("/login/", {"username": name, "password": "a-long-password-7"})
    assert reply.status_code == 302
    return client


def inside(client: Client) -> bool:
    return client.get("/admin/annotator/study/").status_code == 200


def later(monkeypatch: pytest.MonkeyPatch, minutes: float) -> None:
    at = timezone.now() + timedelta(minutes=minutes)
    monkeypatch.setattr(activity.timezone, "now", lambda: at)


def test_the_list_shows_each_browser_and_its_network_only(rosa: User) -> None:
    here, _ = logged_in(), logged_in(agent="Mozilla/5.0 (iPhone) Safari/605")
    page = here.get(PAGE).content.decode()
    assert "Firefox on Linux (this browser)" in page
    assert "Safari on iOS" in page
    assert "198.51.100.0" in page
    assert "198.51.100.77" not in page
    assert set(UserSession.objects.values_list("ip", flat=True)) == {"198.51.100.0"}


def test_one_session_or_all_others_can_be_ended(rosa: User) -> None:
    here, there, elsewhere = logged_in(), logged_in(), logged_in()
    other = UserSession.objects.get(session_key=there.session.session_key)
    here.post(PAGE, {"session": other.pk})
    assert (inside(here), inside(there), inside(elsewhere)) == (True, False, True)
    here.post(PAGE, {"session": "others"})
    assert (inside(here), inside(elsewhere)) == (True, False)
    ended = [
        entry.after["sessions_ended"] for entry in AuditEntry.objects.filter(after__has_key="sessions_ended")
    ]
    assert ended == [1, 1]


@pytest.mark.parametrize("chosen", ["", "x", "-1", "9" * 40, "²"])
def test_another_persons_session_and_nonsense_end_nothing(rosa: User, chosen: str) -> None:
    make_user("boris", staff=True)
    here, theirs = logged_in(), logged_in("boris")
    here.post(PAGE, {"session": UserSession.objects.get(session_key=theirs.session.session_key).pk})
    assert here.post(PAGE, {"session": chosen}).status_code == 302
    assert inside(theirs)
    assert "boris" not in here.get(PAGE).content.decode()
    assert Client().get(PAGE).status_code == 302


def test_a_researchers_session_ends_after_inactivity_and_lasts_while_used(
    rosa: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RESEARCHER_IDLE_MINUTES = 30
    used, idle = logged_in(), logged_in()
    for minutes in (20, 40):
        with monkeypatch.context() as patch:
            later(patch, minutes)
            assert inside(used)
    with monkeypatch.context() as patch:
        later(patch, 41)
        assert not inside(idle)
        assert idle.get("/api/v1/studies/").status_code in (401, 403)


def test_it_ends_two_weeks_after_the_login_even_if_used(rosa: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = logged_in()
    for hours in range(10, 14 * 24, 10):
        with monkeypatch.context() as patch:
            later(patch, hours * 60)
            assert inside(client)
    later(monkeypatch, 14 * 24 * 60 + 1)
    assert not inside(client)


def test_a_participants_session_does_not_end_by_inactivity(monkeypatch: pytest.MonkeyPatch) -> None:
    make_user("pat")
    client = logged_in("pat")
    later(monkeypatch, 60 * 24 * 13)
    assert client.get("/me/").status_code == 200


def test_the_time_of_use_costs_no_query_a_page(rosa: User) -> None:
    with_times, without = logged_in(), logged_in()
    session = without.session
    session.pop(activity.USED)
    session.save()
    counts = []
    for client in (with_times, without):
        client.get("/two-factor/")
        with CaptureQueriesContext(connection) as queries:
            client.get("/two-factor/")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_an_operator_can_log_somebody_out_everywhere(rosa: User) -> None:
    make_user("root", staff=True)
    User.objects.filter(username="root").update(is_superuser=True)
    theirs, root = logged_in(), logged_in("root")
    root.post("/admin/annotator/user/", {"action": "log_out", "_selected_action": [rosa.pk]})
    assert (inside(theirs), inside(root)) == (False, True)


def test_nothing_is_kept_of_sessions_that_have_expired(rosa: User) -> None:
    live, expired = logged_in(), logged_in()
    Session.objects.filter(session_key=expired.session.session_key).update(expire_date=timezone.now())
    assert sessions_sweep() == 1
    assert list(UserSession.objects.values_list("session_key", flat=True)) == [live.session.session_key]
