"""API tokens: stored as digests, limited by scopes, ended by time, revocation and a new password."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from annotator.models import ApiToken, User
from annotator.services.api_tokens import api_token_make
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def rosa() -> User:
    return make_user(staff=True)


def reply(token: str, method: str = "get") -> Any:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    return getattr(client, method)("/api/v1/studies/", format="json")


def test_a_token_works_and_only_its_digest_is_stored(rosa: User) -> None:
    token = api_token_make(user=rosa)
    assert reply(token).status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM annotator_apitoken t")
        assert token not in cursor.fetchone()[0]
    assert reply(ApiToken.objects.get().digest).status_code in (401, 403), "the digest is no token"


@pytest.mark.parametrize("how", ["expired", "password", "inactive", "revoked"])
def test_tokens_end_by_time_revocation_and_a_new_password(rosa: User, how: str) -> None:
    token = api_token_make(user=rosa)
    if how == "expired":
        ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "password":
        rosa.set_password("another-long-password-8")
        rosa.save()
    elif how == "inactive":
        User.objects.update(is_active=False)
    else:
        ApiToken.objects.all().delete()
    assert reply(token).status_code in (401, 403)


def test_a_token_that_can_only_read(rosa: User) -> None:
    token = api_token_make(user=rosa, may_write=False)
    assert reply(token).status_code == 200
    refused = reply(token, "post")
    assert refused.status_code == 403
    assert refused.json()["detail"] == "This token may not change anything. Create one with this scope."
    assert reply(api_token_make(user=rosa), "post").status_code == 400, "another one may write"


#: (method, address, the scope that it needs)
SCOPED = [
    ("get", "studies/s/", ""),
    ("get", "studies/s/progress/", ""),
    ("get", "studies/s/runs/", ""),
    ("patch", "studies/s/", "may_write"),
    ("post", "studies/s/launch/", "may_write"),
    ("post", "studies/s/material/", "may_write"),
    ("post", "studies/s/exclusions/", "may_write"),
    ("post", "studies/s/runs/", "may_run"),
    ("patch", "runs/1/", "may_run"),
    ("post", "runs/1/start/", "may_run"),
    ("get", "studies/s/judgments/", "may_see_people"),
    ("get", "studies/s/judgments/export/", "may_see_people"),
    ("get", "studies/s/exclusions/", "may_see_people"),
    ("get", "studies/s/exports/", "may_see_people"),
    ("post", "studies/s/exports/", "may_see_people"),
    ("get", "exports/1/file/", "may_see_people"),
]
SCOPES = ("may_write", "may_run", "may_see_people")


@pytest.mark.parametrize(("method", "address", "needed"), SCOPED)
def test_every_address_requires_its_scope(rosa: User, method: str, address: str, needed: str) -> None:
    make_study(by=rosa, slug="s")

    def status(**scopes: bool) -> int:
        client = APIClient()
        token = api_token_make(user=rosa, **{**dict.fromkeys(SCOPES, False), **scopes})
        client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
        return int(getattr(client, method)(f"/api/v1/{address}", {}, format="json").status_code)

    others = {name: True for name in SCOPES if name != needed}
    assert (status(**others) == 403) is bool(needed)
    assert status(**({needed: True} if needed else {})) != 403


def test_the_number_of_tokens_per_user_is_limited(rosa: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotator.services.api_tokens.MOST", 2)
    for _ in range(2):
        api_token_make(user=rosa)
    with pytest.raises(ValidationError, match="Revoke one"):
        api_token_make(user=rosa)


def test_the_last_use_is_recorded_to_the_hour(rosa: User) -> None:
    token = api_token_make(user=rosa)
    reply(token)
    first = ApiToken.objects.get().last_used_at
    assert first is not None
    with CaptureQueriesContext(connection) as queries:
        reply(token)
    assert not [one for one in queries if "UPDATE" in one["sql"]], "a program that only reads makes no writes"
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(hours=2))
    reply(token)
    assert ApiToken.objects.get().last_used_at > first - timedelta(minutes=1)


def test_a_removed_member_loses_access_to_the_runs() -> None:
    from annotator.models import Membership
    from evaluation.models import Endpoint, Run
    from evaluation.selectors.run import runs_for
    from evaluation.simulators.start import simulation_create
    from tests.factories import make_study

    study = make_study(by=make_user("owner", staff=True), items=1)
    rosa = make_user(staff=True)
    Membership.objects.create(study=study, user=rosa, role=Membership.Role.EDITOR)
    endpoint = Endpoint.objects.create(
        workspace=study.workspace, name="none", base_url="http://127.0.0.1:9/v1", model="scripted"
    )
    run = simulation_create(study=study, endpoint=endpoint)
    Run.objects.filter(pk=run.pk).update(created_by=rosa)
    assert list(runs_for(user=rosa)) == [run]
    Membership.objects.filter(user=rosa).delete()
    assert not runs_for(user=rosa).exists()
    Run.objects.filter(pk=run.pk).update(study=None)
    assert list(runs_for(user=rosa)) == [run], "their own work on no study stays theirs"
