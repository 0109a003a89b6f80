"""The audit trail's pages; every page that shows participants' names is recorded there."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.models import AuditAction, AuditEntry, Participation, Study, User
from annotator.services.exclusion import exclusion_make
from annotator.services.membership import member_change
from annotator.services.payment import bonus_give
from annotator.services.study import study_update
from annotator.services.workspace import workspace_member_set
from tests.annotator.admin.study_pages import PAGES, address
from tests.factories import (
    make_file_import,
    make_image,
    make_item,
    make_judgment,
    make_rater,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db
NAME = "zephyrine"


@pytest.fixture
def study(researcher: User) -> Study:
    study = make_study(by=researcher, slug="owls")
    person = make_rater(NAME)
    judgment = make_judgment(make_item(study), person)
    exclusion_make(study=study, by=researcher, judgment=judgment, reason="x")
    Participation.objects.create(study=study, rater=person)
    make_file_import(study, researcher)
    make_image(study)
    return study


@pytest.fixture
def client(researcher: User) -> Client:
    client = Client(REMOTE_ADDR="198.51.100.77")
    client.force_login(researcher)
    return client


def page(study: Study) -> str:
    return reverse("admin:study_audit", args=[study.pk])


def test_the_page_shows_every_part_of_an_entry(client: Client, study: Study) -> None:
    client.post(f"/admin/annotator/study/{study.pk}/do/launch/")
    study_update(study=study, by=study.researchers.get(), summary="About owls")
    html = client.get(page(study)).content.decode()
    for shown in ("Study launched", "198.51.100.0/24", "rosa", "Settings changed", "<ins>About owls</ins>"):
        assert shown in html


def test_it_is_linked_from_the_settings_and_the_members(client: Client, study: Study) -> None:
    for name in ("annotator_study_change", "study_members"):
        assert page(study) in client.get(reverse(f"admin:{name}", args=[study.pk])).content.decode()
    trail = reverse("admin:workspace_audit", args=[study.workspace_id])
    assert trail in client.get(reverse("admin:workspace_members", args=[study.workspace_id])).content.decode()


def test_filters(client: Client, study: Study) -> None:
    otto = make_user("otto", staff=True)
    study.memberships.create(user=otto, role="owner")
    study_update(study=study, by=otto, summary="About owls")
    member_change(membership=study.memberships.get(user=otto), role="viewer")

    def shown(query: str) -> set[str]:
        reply = client.get(f"{page(study)}?{query}")
        assert reply.status_code == 200
        return {one["label"] for one in reply.context["entries"]}

    assert shown("group=members") == {"Role changed"}
    assert shown("who=otto") == {"Settings changed"}
    assert shown("until=2020-01-01") == set()
    assert "Study created" in shown("since=2020-01-01&until=2100-01-01")
    for wrong in ("group=x", "who=nobody", "since=yesterday", "until=99999-01-01"):
        reply = client.get(f"{page(study)}?{wrong}")
        assert (reply.status_code, reply.context["entries"]) == (400, [])
        assert client.get(f"{page(study)}?csv=1&{wrong}").status_code == 400


def test_the_csv_file_has_every_entry_and_its_download_is_recorded(client: Client, study: Study) -> None:
    study_update(study=study, by=study.researchers.get(), summary="=1+1")
    reply: Any = client.get(f"{page(study)}?csv=1")
    rows = list(csv.DictReader(io.StringIO(b"".join(reply.streaming_content).decode())))
    assert len(rows) == AuditEntry.objects.filter(study=study).count()
    assert rows[0]["action"] == "people.exported"
    assert rows[0]["target"] == "audit trail"
    assert '{"summary": "=1+1"}' in {row["after"] for row in rows}


def test_older_entries_are_on_the_next_page(
    client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotator.admin.study_pages.audit.PAGE", 2)
    seen = []
    query = ""
    while True:
        reply = client.get(f"{page(study)}?{query}")
        seen += [one["entry"].pk for one in reply.context["entries"]]
        query = reply.context["following"]
        if not query:
            break
    assert seen == sorted(AuditEntry.objects.filter(study=study).values_list("pk", flat=True), reverse=True)


def test_a_workspace_has_the_entries_of_all_its_studies(
    client: Client, study: Study, researcher: User
) -> None:
    other = make_study(by=researcher, slug="hens")
    make_study(by=make_user("otto", staff=True), slug="strangers")
    make_user("mate", staff=True)
    workspace_member_set(workspace=study.workspace, username="mate", role="editor")
    html = client.get(reverse("admin:workspace_audit", args=[study.workspace_id])).content.decode()
    for shown in (study.slug, other.slug, "researcher mate", "Workspace created"):
        assert shown in html
    assert "strangers" not in html


def test_only_owners_of_a_workspace_read_its_trail(study: Study) -> None:
    address = reverse("admin:workspace_audit", args=[study.workspace_id])
    for role, status in (("editor", 404), ("owner", 200)):
        make_user(role, staff=True)
        workspace_member_set(workspace=study.workspace, username=role, role=role)
        mate = Client()
        mate.force_login(User.objects.get(username=role))
        assert mate.get(address).status_code == status
        assert mate.get(f"{address}?csv=1").status_code == status


def test_the_pages_number_of_queries_is_constant(client: Client, study: Study) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            client.get(page(study))
        return len(queries)

    person = study.participations.get().rater
    bonus_give(study=study, rater=person, by=study.researchers.get(), amount=Decimal(1), reason="x")
    first = count()
    for number in range(5):
        other = make_rater(f"other-{number}")
        Participation.objects.create(study=study, rater=other)
        bonus_give(study=study, rater=other, by=study.researchers.get(), amount=Decimal(1), reason="x")
    assert count() == first


def _lists() -> list[str]:
    return [
        f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for model in admin.site._registry
        if model._meta.model_name not in ("study", "user")
    ]


@pytest.mark.parametrize("where", ["study", "lists", "api"])
def test_every_page_that_names_participants_records_a_view(client: Client, study: Study, where: str) -> None:
    """If a page contains a participant's name, the trail has an entry for the view."""
    if where == "study":
        addresses = [address(study, one) for one in PAGES if one != "download/"]
    elif where == "lists":
        addresses = _lists()
    else:
        addresses = [
            f"/api/v1/studies/owls/{one}/" for one in ("judgments", "exclusions", "items", "progress")
        ]
    unseen, named = [], 0
    kinds = (AuditAction.PEOPLE_VIEWED, AuditAction.EXPORTED)
    for one in addresses:
        # Each page alone, because an earlier view of another page doesn't count.
        before = AuditEntry.objects.filter(action__in=kinds).count()
        answer = client.get(one)
        content = answer.getvalue() if answer.streaming else answer.content
        if NAME in content.decode():
            named += 1
            seen = AuditEntry.objects.filter(action__in=kinds, study=study)
            if AuditEntry.objects.filter(action__in=kinds).count() == before and not seen.filter(
                target__in=("exclude", "judgments of an item")
            ):
                unseen.append(one)
    assert named
    assert unseen == []


def test_viewing_the_list_of_accounts_is_recorded(db: None) -> None:
    boss = User.objects.create_superuser("boss")
    client = Client()
    client.force_login(boss)
    assert client.get("/admin/annotator/user/").status_code == 200
    entry = AuditEntry.objects.get(action=AuditAction.PEOPLE_VIEWED)
    assert (entry.actor, entry.target, entry.study, entry.workspace) == (boss, "accounts", None, None)
