"""Everything around a study over the API: messages, payments, people, corrections, copies, archives, rehearsals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from annotator.models import Message, Study, User
from annotator.services.api_tokens import api_token_make
from annotator.services.assignment import assignment_next
from annotator.services.message import message_send
from annotator.services.study import study_close, study_update
from annotator.services.submit_and_next import turn_take
from tests.factories import (
    make_item,
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    simulation_payload,
)

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/"


@pytest.fixture
def study(researcher: User) -> Study:
    """A live study of two items, of which one participant has judged one."""
    study = make_study(by=researcher, slug="owls", items=2, launched=True, pay_per_item="0.50")
    person = make_participation(study)
    task = assignment_next(participation=person)
    turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    return study


def ask(api: APIClient, method: str, path: str, data: Any = None, *, code: int = 200) -> Any:
    reply = getattr(api, method)(f"{ROOT}{path}", data, format="json")
    assert reply.status_code == code, reply.content
    return reply.json() if reply.content else None


def test_messages_are_read_answered_and_settled(api: APIClient, study: Study) -> None:
    person = study.participations.get()
    asked = message_send(participation=person, kind="question", text="Why?")
    flag = message_send(participation=person, kind="flag", text="A typo.", item=study.items.first())
    shown = ask(api, "get", "studies/owls/messages/?waiting=true")["results"]
    assert [(one["kind"], one["text"], one["item"]) for one in shown] == [
        ("question", "Why?", None),
        ("flag", "A typo.", flag.item.key if flag.item else ""),
    ]
    wrong = ask(api, "post", "studies/owls/messages/", {"messages": [asked.pk], "txt": "So."}, code=400)
    assert wrong["errors"] == {"txt": ["is not known; did you mean text?"]}
    strange = ask(api, "post", "studies/owls/messages/", {"messages": [10**9], "text": "So."}, code=400)
    assert "no message" in strange["errors"]["messages"][0]
    sent = ask(api, "post", "studies/owls/messages/", {"messages": [asked.pk], "text": "So."})
    assert sent == {"participants": 1}
    assert ask(api, "post", "studies/owls/messages/settle/", {"messages": [flag.pk]}) == {"settled": 1}
    assert ask(api, "get", "studies/owls/messages/?waiting=true")["results"] == []
    assert Message.objects.get(kind="reply").text == "So."


def test_work_is_accepted_paid_and_the_record_undone(api: APIClient, study: Study) -> None:
    rater = study.participations.get().rater_id
    assert ask(api, "post", "studies/owls/payments/accept/", {}) == {"judgments": 1}
    given = {"rater": rater, "amount": "1.00", "reason": "careful"}
    ask(api, "post", "studies/owls/payments/bonus/", given, code=201)
    shown = ask(api, "get", "studies/owls/payments/")
    assert (shown["currency"], shown["totals"]["payable"]) == ("USD", "1.50")
    assert [(one["rater"], one["payable"]) for one in shown["participants"]] == [(rater, "1.50")]
    paid = {"reference": "batch 1", "amounts": {str(rater): "1.50"}}
    assert ask(api, "post", "studies/owls/payments/", paid, code=201) == {"participants": 1, "total": "1.50"}
    again = ask(api, "post", "studies/owls/payments/", paid, code=400)
    assert "already paid under this reference" in again["errors"]["reference"][0]
    assert ask(api, "post", "studies/owls/payments/undo/", {"reference": "batch 1"}) == {"participants": 1}
    assert ask(api, "get", "studies/owls/payments/")["totals"]["payable"] == "1.50"


def test_participants_and_members(api: APIClient, study: Study) -> None:
    [person] = ask(api, "get", "studies/owls/participants/")["results"]
    assert (person["rater"], person["done"], person["state"]) == (
        study.participations.get().rater_id,
        1,
        "active",
    )
    invited = ask(api, "post", "studies/owls/members/", {"role": "viewer", "email": "a@b.example"}, code=201)
    assert "/colleague/" in invited["link"]
    found = ask(api, "get", "studies/owls/members/")
    assert [(one["username"], one["role"]) for one in found["members"]] == [("rosa", "owner")]
    assert [one["email"] for one in found["invitations"]] == ["a@b.example"]
    ask(api, "delete", f"invitations/{invited['id']}/", code=204)
    assert ask(api, "get", "studies/owls/members/")["invitations"] == []
    mine = study.memberships.get()
    refused = ask(api, "patch", f"members/{mine.pk}/", {"role": "viewer"}, code=400)
    assert "only owner" in refused["errors"]["detail"][0]


def test_a_token_without_the_scope_sees_no_people(researcher: User, study: Study) -> None:
    client = APIClient()
    token = api_token_make(user=researcher, name="x", may_see_people=False)
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    for page in ("messages", "payments", "participants", "contested"):
        assert client.get(f"{ROOT}studies/owls/{page}/").status_code == 403, page


def test_items_are_edited_corrected_and_withdrawn(api: APIClient, study: Study, researcher: User) -> None:
    draft = make_study(by=researcher, slug="draft", items=1)
    item = draft.items.get()
    changed = {"payload": simulation_payload("new"), "gold": {"helpful": "no"}}
    assert ask(api, "put", f"items/{item.pk}/", changed)["gold"] == {"helpful": "no"}
    wrong = ask(api, "put", f"items/{item.pk}/", changed | {"gold": {"helpful": "perhaps"}}, code=400)
    assert "helpful" in wrong["errors"]["gold"][0]
    ask(api, "delete", f"items/{item.pk}/", code=204)
    one, two = study.items.order_by("pk")
    corrected = ask(api, "post", f"items/{one.pk}/correct/", {"payload": simulation_payload("x"), "reason": "a typo"}, code=201)  # fmt: skip
    assert corrected["key"] == f"{one.key}.v2"
    ask(api, "post", f"items/{two.pk}/withdraw/", {"reason": "broken"})
    two.refresh_from_db()
    assert two.withdrawn_reason == "broken"
    changes = ask(api, "get", "studies/owls/versions/compare/?before=1&after=3")
    assert [one["name"] for one in changes if one["name"].startswith("item ")] == [
        f"item {one.key}",
        f"item {two.key}",
    ]


def test_contested_items(api: APIClient, study: Study) -> None:
    item = study.items.last()
    assert item is not None
    for name, answer in (("ann", "yes"), ("ben", "no")):
        make_judgment(item, make_rater(name), answer)
    [row] = ask(api, "get", "studies/owls/contested/")
    assert (row["item"], row["answers"]) == (
        item.key,
        len({str(one["response"]) for one in row["judgments"]}),
    )
    assert {one["rater"] for one in row["judgments"]} >= {"ann", "ben"}
    misspelt = ask(api, "get", "studies/owls/contested/?sytem=x", code=400)
    assert misspelt["errors"] == {"sytem": ["is not known; did you mean system?"]}


def test_a_study_is_copied_archived_deleted_and_restored(api: APIClient, study: Study) -> None:
    copy = ask(api, "post", "studies/owls/duplicate/", {"slug": "bats", "title": "Bats"}, code=201)
    assert (copy["slug"], copy["state"]) == ("bats", "draft")
    assert Study.objects.get(slug="bats").items.count() == 2
    study_close(study=study)
    refused = ask(api, "post", "studies/owls/archive/", {}, code=400)
    assert "1 judgment to accept" in refused["errors"]["detail"][0]
    ask(api, "post", "studies/owls/archive/", {"anyway": True})
    ask(api, "delete", "studies/owls/archive/")
    ask(api, "post", "studies/owls/delete/", {"typed": "bats"}, code=400)
    ask(api, "post", "studies/owls/delete/", {"typed": "owls"}, code=204)
    ask(api, "get", "studies/owls/", code=404)
    assert ask(api, "post", "studies/owls/restore/")["slug"] == "owls"


def test_a_rehearsal_is_started_watched_stopped_and_cleared(api: APIClient, researcher: User) -> None:
    study = make_study(by=researcher, slug="new")
    make_item(study)
    begun = ask(api, "post", "studies/new/rehearsal/", {"raters": 3}, code=202)
    assert begun["state"] in ("queued", "running", "done")
    assert ask(api, "get", "studies/new/rehearsal/")["error"] == ""
    ask(api, "post", "studies/new/rehearsal/stop/")
    assert set(ask(api, "delete", "studies/new/rehearsal/")) == {"judgments"}


def test_an_import_says_how_many_units_it_wrote(api: APIClient, researcher: User) -> None:
    make_study(by=researcher, slug="new")
    row = {**simulation_payload("a"), "key": "a", "system": "s"}
    address = f"{ROOT}studies/new/material/"
    reply = api.post(address, json.dumps(row), content_type="application/x-ndjson")
    assert reply.json().get("units") == 0


@pytest.mark.parametrize("sent", [[{"key": "a"}], {"body": 5}, 5])
def test_an_import_of_strange_json_is_refused(api: APIClient, researcher: User, sent: Any) -> None:
    make_study(by=researcher, slug="new")
    ask(api, "post", "studies/new/material/", sent, code=400)


def test_versions_are_named(api: APIClient, study: Study, researcher: User) -> None:
    study_update(study=study, by=researcher, title="Owls again")
    missing = ask(api, "get", "studies/owls/versions/compare/?before=1&after=9", code=400)
    assert missing["errors"] == {"after": ["The study has no version with this number."]}
