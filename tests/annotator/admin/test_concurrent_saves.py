"""Somebody else stores a conflicting row between a form's validation and its saving: the form says so, and keeps what was
entered."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from annotator.admin import people, records
from annotator.models import Exclusion, Study, User
from annotator.services.account import account_save
from annotator.services.exclusion import exclusion_make
from annotator.services.study import study_create
from tests.factories import make_user


def waiting_for_a_lock() -> bool:
    """Whether a statement of this database waits for another transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db
def test_an_exclusion_that_somebody_else_made_first_is_an_error_in_the_form(
    researcher_client: Client, judged_study: Study, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater = judged_study.judgments.order_by("pk")[0].rater
    calls: list[dict[str, Any]] = []

    def second_call_loses(**given: Any) -> Exclusion:
        calls.append(given)
        if len(calls) == 2:  # validation has passed; now the form saves
            exclusion_make(study=judged_study, by=researcher, reason="Was quicker.", rater=rater)
        return exclusion_make(**given)

    monkeypatch.setattr(records, "exclusion_make", second_call_loses)
    fields = {"study": judged_study.pk, "rater": rater.pk, "reason": "Answers too fast."}
    reply = researcher_client.post("/admin/annotator/exclusion/add/", fields)
    page = reply.content.decode()
    assert reply.status_code == 200
    assert "This rater is already excluded." in page
    assert "Answers too fast." in page, "what was entered is still there"
    # The simulated exclusion was stored in the request's own transaction, which was rolled back with it.
    assert not Exclusion.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_short_name_that_is_taken_while_the_form_is_saved_is_an_error_at_its_field() -> None:
    researcher = make_user("rita", staff=True)
    client = Client()
    client.force_login(researcher)
    replies: list[Any] = []

    def send() -> None:
        try:
            fields = {"template": "simulation", "title": "Second", "slug": "hens"}
            replies.append(client.post("/admin/annotator/study/add/", fields))
        finally:
            connection.close()

    with transaction.atomic():
        study_create(by=None, hit_type="simulation", slug="hens", title="First")
        request = threading.Thread(target=send)
        request.start()
        deadline = time.monotonic() + 120
        while not waiting_for_a_lock():  # the request has checked the name, and waits to store it
            assert time.monotonic() < deadline
            time.sleep(0.05)
    request.join(120)
    (reply,) = replies
    assert reply.status_code == 400
    page = reply.content.decode()
    assert "already exists" in page
    assert 'value="Second"' in page
    assert list(Study.objects.values_list("title", flat=True)) == ["First"]


@pytest.mark.django_db(transaction=True)
def test_a_username_that_is_taken_while_the_account_is_saved_is_an_error_at_its_field(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client()
    client.force_login(make_user("rita", staff=True, is_superuser=True))

    def take_the_name() -> None:
        make_user("maria")
        connection.close()

    def late(*, account: User) -> None:
        other = threading.Thread(target=take_the_name)  # a connection of its own, which commits at once
        other.start()
        other.join(120)
        account_save(account=account)

    monkeypatch.setattr(people, "account_save", late)
    fields = {
        "username": "maria",
        "usable_password": "true",
        "password1": "a-long-password-9",
        "password2": "a-long-password-9",
    }
    reply = client.post("/admin/annotator/user/add/", fields)
    assert reply.status_code == 200
    assert "already exists" in str(reply.context["adminform"].form.errors["username"])
    assert User.objects.count() == 2
