"""Logging in, the throttle, forgotten passwords, sessions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.core import mail
from django.test import Client
from django.utils import timezone

from annotator.accounts import attempts
from annotator.accounts.attempts import KEPT, LIMITS, attempts_sweep
from annotator.models import LoginAttempt, User
from foretell import settings as settings_file
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
RIGHT = "a-long-password-7"
MOST = LIMITS[LoginAttempt.Kind.LOGIN][0].most


def log_in(client: Client, name: str, password: str, *, path: str = "/login/", **headers: str) -> Any:
    return client.post(path, {"username": name, "password": password}, **headers)  # type: ignore[arg-type]


def inside(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.parametrize("path", ["/login/", "/admin/login/"])
def test_too_many_attempts_block_even_the_right_password(path: str) -> None:
    user = make_user("ada", staff=True)
    client = Client()
    for n in range(MOST):
        assert "Too many attempts" not in log_in(client, "ada", f"guess-{n}", path=path).content.decode()
    refused = log_in(client, "ada", RIGHT, path=path)
    assert "Too many attempts" in refused.content.decode()
    assert not inside(client)
    if path == "/login/":
        assert refused.status_code == 429
    # Other pages that ask for the same password share the count.
    other = "/admin/login/" if path == "/login/" else "/login/"
    log_in(Client(), "ADA", RIGHT, path=other)
    assert not inside(client)
    LoginAttempt.objects.update(at=timezone.now() - timedelta(minutes=16))
    log_in(client, user.username, RIGHT, path=path)
    assert inside(client), "the wait has an end"


@pytest.mark.parametrize("proxies", [0, 1])
def test_a_forged_forwarded_for_header_does_not_bypass_the_throttle(settings: Any, proxies: int) -> None:
    """Without a proxy the header is ignored; behind one, only the last part, which the proxy wrote, counts."""
    settings.PROXIES = proxies
    make_user("ada")
    client = Client()
    for n in range(MOST):
        written = f"10.0.0.{n}" + (", 203.0.113.9" if proxies else "")
        log_in(client, "ada", "guess", HTTP_X_FORWARDED_FOR=written)
    written = "192.0.2.1" + (", 203.0.113.9" if proxies else "")
    assert log_in(client, "ada", RIGHT, HTTP_X_FORWARDED_FOR=written).status_code == 429
    if proxies:
        log_in(client, "ada", RIGHT, HTTP_X_FORWARDED_FOR="203.0.113.77")
        assert inside(client), "somebody elsewhere is not locked out"


def test_attempts_are_limited_by_address_and_by_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, LoginAttempt.Kind.LOGIN, (attempts.Limit(("address",), 6, 15),))
    for n in range(6):
        log_in(Client(), f"user-{n}", "123456")
    make_user("ada")
    assert log_in(Client(), "ada", RIGHT).status_code == 429, "spraying one password over many names"
    few = (attempts.Limit(("account",), 4, 60),)
    monkeypatch.setitem(LIMITS, LoginAttempt.Kind.LOGIN, few)
    make_user("bea")
    for n in range(4):
        log_in(Client(), "bea", "guess", REMOTE_ADDR=f"192.0.2.{n}")
    assert log_in(Client(), "bea", RIGHT, REMOTE_ADDR="192.0.2.99").status_code == 429


def test_concurrent_attempts_are_all_counted() -> None:
    """An attempt is counted before the password is checked: here all but one are only counted so far."""
    make_user("ada")
    for _ in range(MOST):
        assert attempts.attempt_count(kind=LoginAttempt.Kind.LOGIN, account="ada", address="127.0.0.1")
    assert log_in(Client(), "ada", RIGHT).status_code == 429
    assert [limit.key_fields for limit in LIMITS[LoginAttempt.Kind.LOGIN]] == [
        ("account", "address"),
        ("address",),
        ("account",),
    ]


def test_a_successful_login_clears_failed_attempts() -> None:
    make_user("ada")
    for _ in range(3):
        for _ in range(MOST - 1):
            log_in(Client(), "ada", "mistyped")
        client = Client()
        log_in(client, "ada", RIGHT)
        assert inside(client)
    assert not LoginAttempt.objects.exists()


def test_attempts_are_stored_without_names_and_for_one_day() -> None:
    log_in(Client(), "ada", "guess")
    kept = LoginAttempt.objects.get()
    assert "ada" not in kept.account
    assert "127.0.0.1" not in kept.address
    assert attempts_sweep() == 0
    LoginAttempt.objects.update(at=timezone.now() - KEPT - timedelta(minutes=1))
    assert attempts_sweep() == 1


def test_a_login_changes_the_session_key() -> None:
    """Session fixation: nobody can prepare a session that somebody else then logs in to."""
    make_user("ada")
    client = Client()
    session = client.session
    session["planted"] = "x"
    session.save()
    planted = session.session_key
    client.cookies["sessionid"] = planted
    log_in(client, "ada", RIGHT)
    assert inside(client)
    assert client.session.session_key != planted
    assert not inside_with(planted)


def test_joining_by_a_link_changes_the_session_key() -> None:
    study = make_study(items=1, launched=True)
    client = Client()
    session = client.session
    session["planted"] = "x"
    session.save()
    planted = session.session_key
    client.cookies["sessionid"] = planted
    client.post(f"/join/{study.join_token}/")
    assert inside(client)
    assert client.session.session_key != planted
    assert not inside_with(planted)


def inside_with(session_key: str | None) -> bool:
    client = Client()
    client.cookies["sessionid"] = session_key or ""
    return client.get("/me/").status_code == 200


def test_production_hashes_passwords_with_scrypt(settings: Any) -> None:
    settings.PASSWORD_HASHERS = settings_file.PASSWORD_HASHERS  # the tests have a faster one
    assert make_password(RIGHT).startswith("scrypt$")


def test_a_new_password_ends_all_other_sessions() -> None:
    make_user("ada")
    mine, thief = Client(), Client()
    for client in (mine, thief):
        log_in(client, "ada", RIGHT)
        assert client.get("/me/").status_code == 200
    new = "another-long-password-8"
    changed = mine.post(
        "/password/", {"old_password": RIGHT, "new_password1": new, "new_password2": new}, follow=True
    )
    assert "Password changed" in changed.content.decode()
    assert mine.get("/me/").status_code == 200
    gone = thief.get("/me/")
    assert gone.status_code == 302
    assert gone["Location"].startswith("/login/")


# -- forgotten --------------------------------------------------------------------------------------------


def ask(client: Client, email: str, **headers: str) -> Any:
    return client.post("/password/reset/", {"email": email}, **headers)  # type: ignore[arg-type]


def links(messages: Sequence[Any]) -> list[str]:
    return [re.findall(r"https?://testserver(\S+)", str(message.body))[0] for message in messages]


def test_a_forgotten_password_is_reset_by_a_link_that_works_once() -> None:
    user = make_user("ada", email="ada@example.org")
    elsewhere = Client()
    log_in(elsewhere, "ada", RIGHT)
    client = Client()
    login = client.get("/login/").content.decode()
    assert "/password/reset/" in login
    assert client.get("/password/reset/").status_code == 200
    assert ask(client, "ADA@example.org")["Location"] == "/password/reset/sent/"
    assert "If there is an account" in client.get("/password/reset/sent/").content.decode()
    [message] = mail.outbox
    assert message.to == ["ada@example.org"]
    [link] = links([message])
    form = client.get(link, follow=True)
    assert "Choose a new password" in form.content.decode()
    assert link not in form.content.decode(), "the secret is not in the page nor its address"
    where = form.request["PATH_INFO"]
    weak = client.post(where, {"new_password1": "short", "new_password2": "short"})
    assert "10 characters" in weak.content.decode()
    new = "another-long-password-8"
    done = client.post(where, {"new_password1": new, "new_password2": new}, follow=True)
    assert "Password changed" in done.content.decode()
    user.refresh_from_db()
    assert user.check_password(new)
    assert elsewhere.get("/me/").status_code == 302, "sessions with the old one are ended"
    again = Client().get(link, follow=True)
    assert again.status_code == 404
    assert "This link has expired" in again.content.decode()


@pytest.mark.parametrize("email", ["nobody@example.org", "left@example.org", "link@example.org"])
def test_the_reply_does_not_reveal_which_addresses_have_accounts(email: str) -> None:
    """Unknown, closed, or joined by a link without a password: the same reply, and no mail."""
    make_user("left", email="left@example.org", is_active=False)
    joined = User.objects.create_user("A-1", email="link@example.org")
    assert not joined.has_usable_password()
    make_user("ada", email="ada@example.org")
    client = Client()
    known, other = ask(client, "ada@example.org"), ask(client, email)
    assert (known.status_code, known["Location"]) == (other.status_code, other["Location"])
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]


def test_reset_links_are_limited() -> None:
    make_user("ada", email="ada@example.org")
    replies = [ask(Client(), "ada@example.org", REMOTE_ADDR=f"192.0.2.{n}") for n in range(6)]
    assert {reply["Location"] for reply in replies} == {"/password/reset/sent/"}
    assert len(mail.outbox) == LIMITS[LoginAttempt.Kind.MAIL][0].most == 3
    client = Client()
    most = LIMITS[LoginAttempt.Kind.RESET][0].most
    assert {ask(client, f"p{n}@example.org").status_code for n in range(most)} == {302}
    refused = ask(client, "p@example.org", HTTP_X_FORWARDED_FOR="198.51.100.1")
    assert refused.status_code == 429
    assert "Try again in an hour" in refused.content.decode()


def test_an_unavailable_mail_server_causes_no_error_page(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    make_user("ada", email="ada@example.org")
    assert ask(Client(), "ada@example.org").status_code == 302


def test_another_persons_link_and_a_forged_one_are_refused() -> None:
    make_user("ada", email="ada@example.org")
    make_user("bea", email="bea@example.org")
    ask(Client(), "ada@example.org")
    ask(Client(), "bea@example.org")
    ada, bea = (link.strip("/").split("/") for link in links(mail.outbox))
    for uid, token in ((ada[-2], bea[-1]), (ada[-2], "x-y"), ("!!", ada[-1]), ("OTk5OTk5", ada[-1])):
        assert Client().get(f"/password/reset/{uid}/{token}/", follow=True).status_code == 404


def test_your_page_requires_a_login() -> None:
    assert Client().get("/me/")["Location"] == "/login/?next=/me/"
    person = make_participation(make_study(items=1, launched=True))
    client = Client()
    client.force_login(person.rater.user)
    assert client.get("/me/").status_code == 200


@pytest.mark.django_db
def test_the_admins_login_leads_to_the_admin(client: Client) -> None:
    User.objects.create_user("ada", password=RIGHT, is_staff=True)
    reply = client.post("/admin/login/", {"username": "ada", "password": RIGHT})
    assert (reply.status_code, reply["Location"]) == (302, "/admin/")
