"""A researcher creates, sees and revokes API tokens."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from annotator.accounts.api_tokens import token_digest
from annotator.models import ApiToken, User
from tests.annotator.admin.study_forms import ROOT, page
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_tokens_are_shown_once_listed_and_revoked(researcher_client: Client, researcher: User) -> None:
    assert "You don't have a token yet" in page(researcher_client, "api-token/")
    chosen = {"make": "1", "name": "nightly import", "may_write": "1", "days": "30"}
    html = researcher_client.post(ROOT + "api-token/", chosen).content.decode()
    first = re.findall(r'value="([0-9a-f]{40})"', html)
    row = ApiToken.objects.get(user=researcher)
    assert token_digest(first[0]) == row.digest
    assert (row.may_write, row.may_run, row.may_see_people) == (True, False, False)
    again = page(researcher_client, "api-token/")
    assert first[0] not in again
    assert "nightly import" in again
    assert "read, write" in again
    researcher_client.post(ROOT + "api-token/", {**chosen, "name": "another"})
    assert ApiToken.objects.filter(user=researcher).count() == 2
    otto = make_user("otto", staff=True)
    other = Client()
    other.force_login(otto)
    assert other.post(ROOT + "api-token/", {"revoke": str(row.pk)}).status_code == 404, "not theirs"
    researcher_client.post(ROOT + "api-token/", {"revoke": str(row.pk)})
    assert ApiToken.objects.get(user=researcher).name == "another"


@pytest.mark.parametrize("days", ["0", "366", "99999999999999999999", "x"])
def test_a_token_without_a_sensible_end_is_refused(researcher_client: Client, days: str) -> None:
    reply = researcher_client.post(ROOT + "api-token/", {"make": "1", "name": "n", "days": days})
    assert reply.status_code == 400
    assert not ApiToken.objects.exists()
