"""Single sign-on against a small real OpenID Connect provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from annotator.models import AuditAction, AuditEntry, User
from annotator.services.workspace import workspace_personal
from tests.factories import make_user
from tests.oidc_server import CLIENT_ID, SECRET, Provider, oidc_provider

pytestmark = pytest.mark.django_db
ADA = {"sub": "ada-1", "preferred_username": "ada", "email": "ada@example.edu", "email_verified": True}
START = "/sso/oidc/login/"


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    with oidc_provider() as found:
        found.claims = dict(ADA)
        settings.OIDC_ISSUER, settings.OIDC_NAME = found.url, "Example University"
        app = {
            "provider_id": "oidc", "name": "Example University", "client_id": CLIENT_ID, "secret": SECRET,
            "settings": {"server_url": found.url},
        }  # fmt: skip
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}}
        yield found


def go(client: Client, start: str = START) -> Any:
    """Follow the browser: to the provider, and back with a code."""
    there = client.get(start)
    assert there.status_code == 302
    back = httpx2.get(there["Location"], follow_redirects=False)
    assert back.headers["Location"].startswith("http://testserver/sso/oidc/login/callback/")
    return client.get(back.headers["Location"].removeprefix("http://testserver"))


def inside(client: Client) -> User | None:
    pk = client.session.get("_auth_user_id")
    return User.objects.get(pk=pk) if pk else None


def test_the_login_page_offers_it_only_where_it_is_set_up(client: Client, provider: Provider) -> None:
    page = client.get("/login/?next=/admin/annotator/study/").content.decode()
    assert "Log in with Example University" in page
    assert "/sso/oidc/login/?next=%2Fadmin%2Fannotator%2Fstudy%2F" in page


def test_without_a_provider_there_is_no_single_sign_on(client: Client) -> None:
    assert "/sso/" not in client.get("/login/").content.decode()
    assert client.get(START).status_code == 404


def test_a_new_person_becomes_a_researcher_with_a_workspace(client: Client, provider: Provider) -> None:
    reply = go(client, f"{START}?next=/admin/annotator/study/")
    assert (reply.status_code, reply["Location"]) == (302, "/admin/annotator/study/")
    user = inside(client)
    assert user is not None
    assert (user.username, user.email, user.is_staff, user.is_superuser) == ("ada", ADA["email"], True, False)
    assert not user.has_usable_password()
    assert client.get("/admin/annotator/study/").status_code == 200
    entry = AuditEntry.objects.get(action=AuditAction.ACCOUNT_CHANGED)
    assert (entry.member, entry.after) == (user, {"is_staff": True, "by": "single sign-on"})
    again = Client()
    go(again)
    assert inside(again) == user


def test_an_existing_account_is_connected_by_its_owner_and_never_by_its_address(
    client: Client, provider: Provider
) -> None:
    rosa = make_user("rosa", staff=True, email="Ada@Example.edu")
    reply = go(client)
    assert reply["Location"] == "/login/"
    assert inside(client) is None
    assert "Log in to it with its password" in client.get("/login/").content.decode()
    client.post("/login/", {"username": "rosa", "password": "a-long-password-7"})
    go(client, f"{START}?process=connect")
    assert SocialAccount.objects.get().user == rosa
    other = Client()
    go(other)
    assert inside(other) == rosa


def test_an_annotator_cannot_block_somebody_by_their_address(client: Client, provider: Provider) -> None:
    make_user("mallory", email="ada@example.edu")
    go(client)
    user = inside(client)
    assert user is not None
    assert user.username == "ada"


def test_names_that_are_taken_or_reserved_are_changed(client: Client, provider: Provider) -> None:
    make_user("ADA")
    go(client)
    user = inside(client)
    assert user is not None
    assert user.username.casefold() != "ada"


@pytest.mark.parametrize(
    ("groups", "enters"), [(["foretell", "x"], True), (["x"], False), ("foretell", True)]
)
def test_only_members_of_the_required_group_can_log_in(
    client: Client, provider: Provider, settings: Any, groups: Any, enters: bool
) -> None:
    settings.OIDC_REQUIRED_CLAIM = "groups=foretell"
    provider.claims["groups"] = groups
    go(client)
    assert (inside(client) is not None) is enters


def test_people_who_leave_the_group_are_refused_from_then_on(
    client: Client, provider: Provider, settings: Any
) -> None:
    settings.OIDC_REQUIRED_CLAIM = "groups=foretell"
    provider.claims["groups"] = ["foretell"]
    go(client)
    provider.claims["groups"] = []
    other = Client()
    go(other)
    assert inside(other) is None


def test_a_disabled_account_cannot_log_in(client: Client, provider: Provider) -> None:
    go(client)
    User.objects.update(is_active=False)
    other = Client()
    go(other)
    assert inside(other) is None


def test_an_unrequested_reply_from_the_provider_is_refused(client: Client, provider: Provider) -> None:
    there = client.get(START)
    back = httpx2.get(there["Location"], follow_redirects=False).headers["Location"]
    victim = Client()
    victim.get(back.removeprefix("http://testserver"))
    assert inside(victim) is None, "the state belongs to another browser"


def test_a_code_without_its_verifier_is_refused(client: Client, provider: Provider) -> None:
    there = client.get(START)
    assert "code_challenge_method=S256" in there["Location"]
    back = httpx2.get(there["Location"], follow_redirects=False).headers["Location"]
    for asked in provider.codes.values():
        asked["code_challenge"] = "of-another-browser"
    reply = client.get(back.removeprefix("http://testserver"))
    assert "The login failed" in reply.content.decode()
    assert inside(client) is None


@pytest.mark.parametrize("at_provider", [True, False])
def test_the_providers_second_factor_counts_if_the_setting_says_so(
    client: Client, provider: Provider, settings: Any, at_provider: bool
) -> None:
    settings.OIDC_SECOND_FACTOR = at_provider
    go(client)
    user = inside(client)
    assert user is not None
    lab = workspace_personal(user=user)
    lab.second_factor_required = True
    lab.save()
    reply = client.get("/admin/annotator/study/")
    assert (reply.status_code == 200) is at_provider
