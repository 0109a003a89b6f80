"""Two-factor login: set-up, every login page, limits, workspaces that require it, and its removal by a superuser."""

from __future__ import annotations

import io
import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotator.accounts.second_factor import SecondFactorAdapter, second_factor_missing
from annotator.models import AuditAction, AuditEntry, Membership, User
from annotator.services.api_tokens import api_token_make
from annotator.services.second_factor import second_factor_remove
from annotator.services.workspace import workspace_member_set, workspace_personal
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-password-7"


@pytest.fixture(autouse=True)
def _no_limits_from_before() -> None:
    cache.clear()


@pytest.fixture
def rosa() -> User:
    return make_user("rosa", staff=True)


def code_of(secret: str, *, steps: int = 0) -> str:
    """What an authenticator app shows, RFC 6238; never so late in its half minute that the next has begun when it's checked."""
    if (left := 30 - time.time() % 30) < 1:
        time.sleep(left)
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def log_in(client: Client, path: str = "/login/") -> Any:
    return client.post(path, {"username": "rosa", "password": PASSWORD})


def set_up(client: Client) -> str:
    """Set it up as a person does; returns the app's secret."""
    log_in(client)
    html = client.get(reverse("mfa_activate_totp")).content.decode()
    secret = re.search(r"<code>([A-Z2-7]{32})</code>", html)
    assert secret is not None
    reply = client.post(reverse("mfa_activate_totp"), {"code": code_of(secret[1], steps=-1)})
    assert (reply.status_code, reply["Location"]) == (302, reverse("mfa_view_recovery_codes"))
    return secret[1]


def inside(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.parametrize("path", ["/login/", "/admin/login/"])
def test_a_password_alone_is_not_enough(rosa: User, path: str) -> None:
    secret = set_up(Client())
    client = Client()
    reply = log_in(client, path)
    assert (reply.status_code, reply["Location"]) == (302, reverse("mfa_authenticate"))
    assert not inside(client)
    assert client.get("/admin/annotator/study/").status_code == 302
    assert client.get("/api/v1/studies/").status_code in (401, 403)
    wrong = client.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert "Incorrect code" in wrong.content.decode()
    assert not inside(client)
    reply = client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert (reply.status_code, inside(client)) == (302, True)
    assert reply["Location"] == ("/admin/" if path == "/admin/login/" else "/me/")


def test_the_requested_page_is_kept_over_both_steps(rosa: User) -> None:
    secret = set_up(Client())
    client = Client()
    client.post("/login/?next=/admin/annotator/study/", {"username": "rosa", "password": PASSWORD})
    reply = client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert reply["Location"] == "/admin/annotator/study/"


def test_a_recovery_code_works_once(rosa: User) -> None:
    client = Client()
    set_up(client)
    codes = re.findall(r"<code>(\d+)</code>", client.get(reverse("mfa_view_recovery_codes")).content.decode())
    assert len(codes) == 10
    for expected in (True, False):
        other = Client()
        log_in(other)
        other.post(reverse("mfa_authenticate"), {"code": codes[0]})
        assert inside(other) is expected


def test_a_code_works_once(rosa: User) -> None:
    secret = set_up(Client())
    code = code_of(
        secret, steps=1
    )  # accepted now and in the next half minute, so this test can't take too long
    for expected in (True, False):
        client = Client()
        log_in(client)
        client.post(reverse("mfa_authenticate"), {"code": code})
        assert inside(client) is expected


def test_a_code_works_once_even_if_the_cache_is_wiped_or_an_older_one_comes_later(rosa: User) -> None:
    secret = set_up(Client())
    for steps, expected in ((0, True), (0, False), (-1, False), (1, True), (1, False)):
        cache.clear()
        client = Client()
        log_in(client)
        client.post(reverse("mfa_authenticate"), {"code": code_of(secret, steps=steps)})
        assert inside(client) is expected, steps


def test_the_code_of_the_set_up_logs_nobody_in(rosa: User) -> None:
    secret = set_up(Client())
    client = Client()
    log_in(client)
    reply = client.post(reverse("mfa_authenticate"), {"code": code_of(secret, steps=-1)})
    assert "Incorrect code" in reply.content.decode()
    assert not inside(client)


def test_guessing_codes_is_limited_even_for_the_right_one(rosa: User) -> None:
    secret = set_up(Client())
    client = Client()
    log_in(client)
    for number in range(12):
        cache.clear()  # allauth's own limit, which a flush of Redis forgets; ours is in Postgres
        client.post(reverse("mfa_authenticate"), {"code": f"{number:06}"})
    cache.clear()
    refused = client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert "Too many attempts" in refused.content.decode()
    assert not inside(client)


def test_secrets_are_encrypted_in_the_database(rosa: User) -> None:
    secret = set_up(Client())
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(a::text, ' ') FROM mfa_authenticator a")
        stored = cursor.fetchone()[0]
    assert secret not in stored


def test_secrets_survive_a_key_rotation(rosa: User, settings: Any) -> None:
    secret, old = set_up(Client()), settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another-key-of-this-test", [old]
    client = Client()
    log_in(client)
    client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert inside(client)
    call_command("rotate_keys", stdout=io.StringIO())
    call_command("rotate_keys", stdout=io.StringIO(), check=True)
    settings.SECRET_KEY_FALLBACKS = []
    sealed = Authenticator.objects.get(type="totp").data["secret"]
    assert SecondFactorAdapter().decrypt(sealed) == secret


def test_without_its_key_a_second_factor_is_refused(rosa: User, settings: Any) -> None:
    secret = set_up(Client())
    settings.SECRET_KEY = "a-key-that-never-sealed-it"
    client = Client()
    log_in(client)
    reply = client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert "Incorrect code" in reply.content.decode()
    assert not inside(client)
    with pytest.raises(CommandError, match="second factor of: rosa"):
        call_command("rotate_keys", stdout=io.StringIO())


def test_changes_are_in_the_audit_trail(rosa: User, django_capture_on_commit_callbacks: Any) -> None:
    client = Client()
    with django_capture_on_commit_callbacks(execute=True):
        set_up(client)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("mfa_generate_recovery_codes"))
    client.post(reverse("mfa_deactivate_totp"))
    found = AuditEntry.objects.filter(action=AuditAction.SECOND_FACTOR_CHANGED).order_by("id")
    after = [entry.after for entry in found]
    assert {"added": "totp"} in after
    assert {"made anew": "recovery_codes"} in after
    assert {"removed": "totp"} in after
    assert {entry.member for entry in found} == {rosa}


@pytest.fixture
def strict(rosa: User) -> Any:
    """A workspace of somebody else that requires it, and that rosa is a viewer of."""
    lab = workspace_personal(user=make_user("boss", staff=True))
    lab.second_factor_required = True
    lab.save()
    workspace_member_set(workspace=lab, username="rosa", role="viewer")
    return lab


@pytest.mark.parametrize(
    "path",
    ["/admin/annotator/study/", "/admin/api-token/", "/api/v1/docs/", "/studies/1/reports/", "/preview/1/"],
)
def test_a_workspace_can_require_it(rosa: User, strict: Any, path: str) -> None:
    study = make_study(by=rosa, slug="s")
    path = path.replace("/1/", f"/{study.pk}/").replace(
        "/admin/api-token/", "/admin/annotator/study/api-token/"
    )
    client = Client()
    log_in(client)
    reply = client.get(path)
    if path.startswith("/api/"):
        assert reply.status_code == 403
        assert "two-factor" in reply.json()["detail"]
    else:
        assert (reply.status_code, reply["Location"]) == (302, reverse("mfa_activate_totp")), path
    set_up(client)
    assert client.get(path).status_code in (200, 302)
    assert client.get(path).headers.get("Location") != reverse("mfa_activate_totp")


def test_it_is_required_of_members_of_single_studies_and_of_programs_too(strict: Any) -> None:
    boss, guest = User.objects.get(username="boss"), make_user("guest", staff=True)
    token = api_token_make(user=guest)
    program = Client(headers={"Authorization": f"Token {token}"})
    assert program.get("/api/v1/studies/").status_code == 200
    Membership.objects.create(study=make_study(by=boss), user=guest, role="viewer")
    assert second_factor_missing(guest)
    assert program.get("/api/v1/studies/").status_code == 401
    assert not second_factor_missing(make_user("stranger", staff=True))


def test_annotators_pages_and_logout_need_no_second_factor(rosa: User, strict: Any) -> None:
    client = Client()
    log_in(client)
    assert client.get(reverse("annotator:password_change")).status_code == 200
    assert client.get(reverse("mfa_index")).status_code == 200
    client.post("/admin/logout/")
    assert not inside(client)


def test_people_who_need_two_factor_login_cannot_turn_it_off(rosa: User, strict: Any) -> None:
    client = Client()
    set_up(client)
    reply = client.post(reverse("mfa_deactivate_totp"))
    assert "cannot deactivate" in reply.content.decode()
    assert Authenticator.objects.filter(user=rosa, type="totp").exists()


def test_a_superuser_removes_the_second_factor_of_somebody_who_lost_their_phone(rosa: User) -> None:
    set_up(Client())
    boss = User.objects.create_superuser("root")
    client = Client()
    client.force_login(boss)
    client.post("/admin/annotator/user/", {"action": "second_factor_remove", "_selected_action": [rosa.pk]})
    assert not Authenticator.objects.exists()
    entry = AuditEntry.objects.filter(action=AuditAction.SECOND_FACTOR_CHANGED).latest("id")
    assert (entry.actor, entry.member, entry.before) == (boss, rosa, {"has": ["recovery_codes", "totp"]})
    log_in(client := Client())
    assert inside(client)
    assert second_factor_remove(user=rosa, by=boss) == 0


def test_the_check_costs_researchers_pages_at_most_one_query(
    rosa: User, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        assert not second_factor_missing(rosa)
