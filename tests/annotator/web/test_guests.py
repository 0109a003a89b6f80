"""People without an account keep their work across upgrades and devices; new guests are limited."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY
from django.test import Client

from annotator.accounts.attempts import LIMITS
from annotator.accounts.return_link import return_path
from annotator.accounts.sessions import FORMER_BACKENDS, GUEST_SECONDS
from annotator.models import LoginAttempt, Participation, Study, User
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(items=3, launched=True)


def join(study: Study) -> tuple[Client, User]:
    client = Client()
    assert client.post(f"/join/{study.join_token}/").status_code == 302
    return client, User.objects.latest("id")


@pytest.mark.parametrize("backend", FORMER_BACKENDS)
def test_sessions_survive_an_upgrade(study: Study, backend: str) -> None:
    client, _ = join(study)
    session = client.session
    session[BACKEND_SESSION_KEY] = backend
    session.save()
    assert client.get(f"/study/{study.slug}/").status_code == 302
    assert client.get(f"/study/{study.slug}/instructions/").status_code == 200


def test_a_guests_session_lasts_longer_than_a_study(study: Study) -> None:
    client, _ = join(study)
    assert client.session.get_expiry_age() == GUEST_SECONDS


def test_a_personal_link_works_on_another_device(study: Study) -> None:
    client, guest = join(study)
    page = client.get("/me/").content.decode()
    # Not compared with `return_path`, because links contain the second in which they were made.
    (path,) = re.findall(r"http://testserver(/return/[^\"]+)", page)
    assert return_path(guest).partition(":")[0] == path.partition(":")[0]
    other = Client()
    assert other.get(path).status_code == 200
    assert "_auth_user_id" not in other.session, "opening it isn't enough: programs open links too"
    other.post(path)
    assert other.session["_auth_user_id"] == str(guest.pk)
    assert other.get(f"/study/{study.slug}/instructions/").status_code == 200


def test_a_personal_link_ends_when_a_password_is_set(study: Study) -> None:
    _, guest = join(study)
    path = return_path(guest)
    assert Client().get(path[:-3] + "xy/").status_code == 404
    assert return_path(make_user()) == return_path(make_user(staff=True)) == ""
    guest.set_password("a-long-password-7")
    guest.save()
    assert Client().post(path).status_code == 404
    guest.set_unusable_password()
    guest.save()
    assert Client().post(path).status_code == 404, "an old link doesn't come back to life"


def sign_up(client: Client, name: str) -> Any:
    return client.post(
        "/signup/", {"username": name, "password1": "a-long-password-7", "password2": "a-long-password-7"}
    )


def test_a_guest_who_creates_an_account_keeps_their_work(study: Study) -> None:
    client, guest = join(study)
    assert sign_up(client, "kim").status_code == 302
    kim = User.objects.get(username="kim")
    assert kim.pk == guest.pk
    assert Participation.objects.get(study=study).rater.user_id == kim.pk
    other = Client()
    assert other.login(username="kim", password="a-long-password-7")
    assert other.get(f"/study/{study.slug}/instructions/").status_code == 200
    assert client.get("/me/").status_code == 200, "still logged in"
    before = User.objects.count()
    sign_up(client, "another")
    assert User.objects.count() == before + 1, (
        "somebody with a password makes a second account, not a new name"
    )
    assert User.objects.filter(username="kim").exists()


def test_new_accounts_from_one_address_are_limited(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    (limit,) = LIMITS[LoginAttempt.Kind.JOIN]
    monkeypatch.setitem(LIMITS, LoginAttempt.Kind.JOIN, (type(limit)(limit.key_fields, 3, limit.minutes),))
    for _ in range(3):
        join(study)
    people = User.objects.count()
    assert Client().post(f"/join/{study.join_token}/").status_code == 429
    assert sign_up(Client(), "kim").status_code == 429
    assert (User.objects.count(), Participation.objects.count()) == (people, 3)
    client = Client()
    client.force_login(make_user())
    assert client.post(f"/join/{study.join_token}/").status_code == 302, "people with an account may join"
    other = Client(REMOTE_ADDR="10.9.8.7")
    assert other.post(f"/join/{study.join_token}/").status_code == 302
