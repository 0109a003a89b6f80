"""A corrected follow-up over HTTP: what people see, what researchers and programs read, and the reports that it settles."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotator.models import FollowUp, Item, Judgment, Study, User
from annotator.services.api_tokens import api_token_make
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db
OLD, NEW = "Can the chick of bird number item-0 fly?", "Can the chick of that bird swim?"


def by_page(owner: User, item: Item, payload: dict[str, Any]) -> None:
    client = Client()
    client.force_login(owner)
    fields = {f"payload-{name}": value for name, value in payload.items()}
    address = f"/admin/annotator/study/{item.study_id}/items/{item.pk}/edit/"
    assert client.post(address, fields | {"reason": "a typo"}).status_code == 302


def by_api(owner: User, item: Item, payload: dict[str, Any]) -> None:
    headers = {"Authorization": f"Token {api_token_make(user=owner)}"}
    sent = {"payload": payload, "gold": None, "reason": "a typo"}
    reply = Client(headers=headers).post(
        f"/api/v1/items/{item.pk}/correct/", sent, content_type="application/json"
    )
    assert reply.status_code == 201, reply.content


def at_work(study: Study) -> tuple[Client, str]:
    """Somebody with a task open, and its page."""
    person = make_participation(study)
    assert person.rater.user is not None
    client = Client()
    client.force_login(person.rater.user)
    return client, client.get(f"/study/{study.slug}/task/").content.decode()


@pytest.mark.parametrize("correct", [by_page, by_api])
def test_a_corrected_follow_up_reaches_everyone(researcher: User, correct: Any) -> None:
    study = make_study(items=1, redundancy=1, by=researcher, launched=True)
    item = study.items.get()
    ann, page = at_work(study)
    assert OLD in page
    [task] = item.assignments.values_list("pk", flat=True)
    ann.post(f"/task/{task}/flag/", {"text": "There is a typo."})
    owner = Client()
    owner.force_login(researcher)
    inbox = f"/admin/annotator/study/{study.pk}/messages/"
    assert "There is a typo." in owner.get(inbox).content.decode()

    correct(researcher, item, item.payload | {"follow_up": NEW})

    assert "There is a typo." not in owner.get(inbox).content.decode(), "the report is settled"
    _, page = at_work(study)
    assert NEW in page
    assert OLD not in page
    corrected = Item.objects.get(replaces=item)
    shown = owner.get(f"/admin/annotator/study/{study.pk}/items/{corrected.pk}/").content.decode()
    assert NEW in shown
    told = owner.get(f"/api/v1/items/{corrected.pk}/").json()
    assert told["payload"]["follow_up"] == NEW
    listed = owner.get(f"/admin/annotator/study/{study.pk}/items/").content.decode()
    assert NEW in listed
    # what reports, releases and generality read
    assert corrected.follow_up is not None
    assert FollowUp.objects.get(items=corrected).text == NEW
    assert list(corrected.follow_up.outputs.values_list("text", flat=True)) == ["yes"]

    # whoever had the old version open can submit it, and it doesn't count
    ann.post(f"/task/{task}/", {"stage": "0", "helpful": "no"})
    assert Judgment.objects.get(item=item).standing == "surplus"
