"""What must not be guessed has at least 128 random bits."""

from __future__ import annotations

import base64

import pytest

from annotator.services.api_tokens import api_token_make
from annotator.services.membership import invitation_create
from tests.factories import make_study, make_user

BITS = 128


@pytest.mark.django_db
def test_secrets_of_links_and_tokens_cannot_be_guessed() -> None:
    ada = make_user("ada", staff=True)
    studies = [make_study(by=ada) for _ in range(2)]
    made = [
        (api_token_make(user=ada), invitation_create(study=study, by=ada, role="viewer")[1], study.join_token)
        for study in studies
    ]
    for first, second in zip(*made, strict=True):
        assert first != second
    token, invitation, join = made[0]
    assert len(bytes.fromhex(token)) * 8 >= BITS
    for text in (invitation, join):
        assert len(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) * 8 >= BITS
