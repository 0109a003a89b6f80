"""Adjudication over the API: what an adjudicator sees, labels, takes back, and what is made of it."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from annotator.models import Membership, Study, User
from tests.annotator.api.conftest import client_of
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user, simulation_payload

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/"
YES = {"response": {"helpful": "yes", "answer": "yes"}}
NO = {"response": {"helpful": "yes", "answer": "no"}}


def ask(api: APIClient, method: str, path: str, data: Any = None, *, code: int = 200) -> Any:
    reply = getattr(api, method)(f"{ROOT}{path}", data, format="json")
    assert reply.status_code == code, reply.content
    return reply.json() if reply.content else None


@pytest.fixture
def study(researcher: User) -> Study:
    """Item a of robot-a: yes, no."""
    study = make_study(by=researcher, slug="owls")
    item = make_item(study, key="a of robot-a", system="robot-a", payload=simulation_payload())
    for name, answer in (("ann", "yes"), ("ben", "no")):
        make_judgment(item, make_rater(name), answer)
    return study


def colleague(study: Study, name: str) -> APIClient:
    user = make_user(name, staff=True)
    Membership.objects.create(study=study, user=user, role="reviewer")
    return client_of(user)


def test_an_item_is_labelled_decided_and_copied_as_gold(api: APIClient, study: Study) -> None:
    queue = ask(api, "get", "studies/owls/adjudication/?order=posterior")
    [waiting] = queue["waiting"]
    assert (queue["contested"], queue["total"], waiting["answers"], waiting["tie"]) == (1, 1, 2, False)
    path = f"items/{waiting['item']}/adjudication/"
    seen = ask(api, "get", path)
    assert seen["why_not"] == ""
    assert "All birds can fly" in str(seen["shown"])
    assert {one["name"] for one in seen["questions"]} >= {"helpful", "answer"}
    assert [one["people"] for one in seen["answers"]] == [1, 1]
    assert not [name for name in ("robot-a", "ann", "ben") if name in str(seen)], "blind to names and systems"
    assert set(ask(api, "post", path, {"response": {"helpful": "maybe"}}, code=400)["errors"]) == {"helpful"}
    assert ask(api, "post", path, YES, code=201)["seat"] == 1
    assert "already adjudicated" in ask(api, "get", path)["why_not"]
    other = colleague(study, "cleo")
    [shown] = ask(other, "get", "studies/owls/adjudicated/")
    assert (shown["state"], shown["adjudicators"], shown["labels"]) == ("open", 1, []), "blind to each other"
    ask(api, "delete", path, code=204)
    ask(api, "delete", path, code=400)
    ask(api, "post", path, YES, code=201)
    ask(other, "post", path, NO, code=201)
    third = colleague(study, "dora")
    assert ask(third, "get", "studies/owls/adjudication/")["waiting"][0]["tie"] is True
    assert ask(third, "post", path, YES, code=201)["round"] == 2
    [shown] = ask(other, "get", "studies/owls/adjudicated/")
    assert (shown["state"], shown["response"]) == ("decided", YES["response"])
    assert [one["seat"] for one in shown["labels"]] == [1, 2, 3]
    made = ask(api, "post", "studies/owls/adjudicated/", {"slug": "owls-2", "title": "Owls 2"}, code=201)
    assert made == {"slug": "owls-2", "items": 1}
    assert ask(api, "get", "studies/owls/adjudication/?ordr=entropy", code=400)["errors"]["ordr"]
