"""Malformed addresses and bodies cause a 4xx reply, never a server error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from annotator.models import Study
from annotator.services.api_tokens import api_token_make
from annotator.services.assignment import assignment_next
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
BIG = "9" * 25
DEEP = "[" * 100_000


@pytest.fixture
def study() -> Study:
    return make_study(items=2, launched=True, by=make_user("rosa", staff=True, is_superuser=True))


def refused(reply: Any) -> bool:
    return 400 <= reply.status_code < 500


@pytest.mark.parametrize(
    "path",
    [
        "/join/%00/", "/join/a%00b/", f"/task/{BIG}/", f"/task/{BIG}/draft/", f"/task/{BIG}/undo/",
        f"/task/{BIG}/skip/", f"/task/{BIG}/more-time/", f"/task/{BIG}/flag/", "/study/%00/", "/return/%00/",
        "/return/W10:1:x/", f"/preview/{BIG}/", f"/preview/{BIG}/instructions/", "/preview/1/exam/?item=%00",
        "/admin/annotator/study/abc/change/", "/admin/annotator/judgment/%00/change/",
        f"/admin/annotator/item/{BIG}/change/",
    ],
)  # fmt: skip
def test_strange_addresses_are_not_found(study: Study, path: str) -> None:
    client = Client()
    for person in (make_user(), study.researchers.get()):
        client.force_login(person)
        for reply in (client.get(path), client.post(path, {"reason": "x", "text": "x", "stage": "0"})):
            assert reply.status_code < 500, path
            assert reply.status_code != 200 or "preview/1" in path


@pytest.mark.parametrize("bad", ["\x00", "a\x00b", "\ud800"])
def test_strange_characters_in_forms_cause_no_server_error(study: Study, bad: str) -> None:
    participation = make_participation(study)
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    client = Client()
    client.force_login(participation.rater.user)
    text = bad.encode("utf-8", "surrogatepass")
    for name, path in [
        ("helpful", f"/task/{assignment.pk}/"), ("helpful", f"/task/{assignment.pk}/draft/"),
        ("signals", f"/task/{assignment.pk}/"), ("reason", f"/task/{assignment.pk}/skip/"),
        ("text", f"/task/{assignment.pk}/flag/"), ("text", f"/study/{study.slug}/message/"),
        ("username", "/signup/"), ("digest", f"/study/{study.slug}/consent/"),
        ("next", "/login/"), ("attempt", f"/study/{study.slug}/exam/"), ("number", f"/study/{study.slug}/practice/"),
    ]:  # fmt: skip
        body = name.encode() + b"=" + b"".join(b"%%%02x" % one for one in text)
        reply = client.post(path, body, content_type="application/x-www-form-urlencoded")
        assert reply.status_code < 500, (name, path)


def test_deeply_nested_signals_and_drafts_are_refused(study: Study) -> None:
    participation = make_participation(study)
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    client = Client()
    client.force_login(participation.rater.user)
    reply = client.post(f"/task/{assignment.pk}/", {"stage": "0", "helpful": "no", "signals": DEEP})
    assert reply.status_code == 302


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/api/v1/studies/%00/"), ("get", f"/api/v1/studies/{BIG}/"), ("get", "/api/v1/studies/{slug}/judgments/?rater=%00"),
        ("get", "/api/v1/studies/{slug}/judgments/?created_at__year=99999"),
        ("get", "/api/v1/nothing/"), ("get", "/api/v1/studies/{slug}/nothing/"),
    ],
)  # fmt: skip
def test_the_api_refuses_strange_requests_in_json(study: Study, method: str, path: str) -> None:
    client = Client(headers={"Authorization": f"Token {api_token_make(user=study.researchers.get())}"})
    reply = getattr(client, method)(path.format(slug=study.slug))
    assert refused(reply), reply.status_code
    assert reply.headers["Content-Type"].startswith(("application/json", "application/problem+json")), path
    json.loads(reply.content)


def test_the_api_refuses_deeply_nested_bodies(study: Study) -> None:
    client = Client(headers={"Authorization": f"Token {api_token_make(user=study.researchers.get())}"})
    for body in (DEEP, json.dumps({"slug": "x", "exam_own": 1})[:-2] + "[" * 50_000):
        reply = client.post("/api/v1/studies/", body, content_type="application/json")
        assert refused(reply), reply.status_code
