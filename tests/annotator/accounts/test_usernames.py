"""Usernames that can't be mistaken for each other, and attempts at the old password."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotator.accounts.usernames import username_check
from annotator.models import User
from annotator.web.views.join import SignUpForm

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-password-7"


@pytest.mark.parametrize("name", ["ada", "Ada.Lovelace", "josé", "Софья", "Ελένη", "a_b-1@c.d", "李雷"])
def test_ordinary_names_are_accepted(name: str) -> None:
    assert username_check(name) is None, "raises ValidationError for others"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("A-7Q2KD9XB", "reserved"),
        ("a-nybody", "reserved"),
        ("аda", "confusable"),  # a Cyrillic first letter
        ("рaypal", "confusable"),  # a Cyrillic first letter
        ("сор", "confusable"),  # Cyrillic throughout, looks like "cop"
        ("ａｄａ", "confusable"),  # full-width letters
        ("ﬁnn", "confusable"),  # a ligature
        ("ανο", "confusable"),  # Greek throughout, looks like "avo"
    ],
)
def test_names_that_imitate_others_are_refused(name: str, why: str) -> None:
    with pytest.raises(ValidationError) as refused:
        username_check(name)
    assert refused.value.code == why


def sign_up(client: Client, name: str) -> str:
    fields = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
    return client.post(reverse("annotator:signup"), fields).content.decode()


def test_two_usernames_cannot_differ_only_in_case(client: Client) -> None:
    User.objects.create_user("Ada", password=PASSWORD)
    assert "already exists" in sign_up(client, "aDA")
    assert "reserved" in sign_up(client, "A-12345678")
    assert User.objects.count() == 1
    with pytest.raises(IntegrityError):
        User.objects.create_user("ADA")


def test_a_login_ignores_the_case_of_the_username(client: Client) -> None:
    user = User.objects.create_user("Ada", password=PASSWORD)
    assert client.login(username="ada", password=PASSWORD)
    assert client.session["_auth_user_id"] == str(user.pk)
    assert not Client().login(username="ada", password=PASSWORD.upper())


@pytest.mark.parametrize("page", ["/password/", "/admin/password_change/"])
def test_attempts_at_the_old_password_are_limited(client: Client, page: str) -> None:
    user = User.objects.create_superuser("ada", password=PASSWORD)
    client.force_login(user)
    new = "another-long-password-8"

    def change(old: str) -> int:
        address = client.get(page, follow=True).request["PATH_INFO"]
        fields = {"old_password": old, "new_password1": new, "new_password2": new}
        return client.post(address, fields).status_code

    assert {change(f"guess {number}") for number in range(10)} == {200}
    assert change("guess 11") == 429
    assert change(PASSWORD) == 429, "the right password is not confirmed either"
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_a_name_that_is_taken_while_the_account_is_created_is_an_error_at_its_field(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = SignUpForm.save

    def late(form: SignUpForm, commit: bool = True) -> User:
        with transaction.atomic():
            User.objects.create_user("maria")
        return save(form, commit)

    monkeypatch.setattr(SignUpForm, "save", late)
    fields = {"username": "maria", "password1": "a-long-password-9", "password2": "a-long-password-9"}
    reply = client.post("/signup/", fields)
    assert reply.status_code == 200
    assert "username" in reply.context["form"].errors
    assert 'value="maria"' in reply.content.decode()
    assert not User.objects.exists(), "the other account was stored in the request's own transaction"
