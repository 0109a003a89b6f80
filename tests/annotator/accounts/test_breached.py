"""Passwords known from data breaches are refused wherever a password is chosen."""

from __future__ import annotations

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.accounts.breached import BYTES, LIST, is_breached
from annotator.models import User
from tests.factories import make_user


@pytest.mark.parametrize("password", ["1q2w3e4r5t", "Qwertyuiop", "unbelievable", "1qaz2wsx3edc"])
def test_leaked_passwords_are_refused_in_any_case(password: str) -> None:
    with pytest.raises(ValidationError) as refused:
        validate_password(password)
    assert "password_breached" in {error.code for error in refused.value.error_list}


@pytest.mark.parametrize(
    "password", ["a-long-password-7", "owls-see-at-night", "пароль-для-совы", "\ud800" * 12]
)
def test_others_are_not(password: str) -> None:
    assert not is_breached(password)


def test_every_entry_is_found_in_order() -> None:
    content = LIST.read_bytes()
    entries = [content[at : at + BYTES] for at in range(0, len(content), BYTES)]
    assert entries == sorted(set(entries))
    assert len(entries) > 50_000


@pytest.mark.django_db
def test_the_page_for_a_new_password_says_why(client: Client) -> None:
    user = make_user("rosa", staff=True)
    client.force_login(user)
    fields = {
        "old_password": "a-long-password-7",
        "new_password1": "1q2w3e4r5t",
        "new_password2": "1q2w3e4r5t",
    }
    page = client.post("/password/", fields, follow=True).content.decode()
    assert "known from a data breach. Choose another one." in page
    assert User.objects.get(pk=user.pk).check_password("a-long-password-7")
