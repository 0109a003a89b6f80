"""Access to every address: as anonymous, as an annotator, as another researcher, and in each role."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.urls import get_resolver
from rest_framework.test import APIClient

from annotator.models import Membership, PersonalLink, Study, User, WorkspaceMember
from annotator.services.exclusion import exclusion_make
from annotator.services.exports import export_request
from annotator.services.membership import invitation_create
from tests.annotator.api.addresses import OF_OWNER, OF_STUDY, OF_TYPE, OPEN
from tests.annotator.api.conftest import client_of
from tests.factories import (
    lab_copy,
    make_file_import,
    make_image,
    make_item,
    make_judgment,
    make_rater,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db

ROLES = ["viewer", "reviewer", "editor", "owner"]


@pytest.fixture
def places(researcher: User) -> dict[str, str]:
    """The address of each name, for a study with something of everything."""
    study = make_study(by=researcher, slug="mine")
    judgment = make_judgment(make_item(study), make_rater("ann"))
    exclusion = exclusion_make(study=study, by=researcher, judgment=judgment, reason="x")
    export = export_request(study=study, by=researcher)
    large = make_file_import(study, researcher)
    invitation, _ = invitation_create(study=study, by=researcher, role="viewer")
    listed = PersonalLink.objects.create(study=study, name="Ann")
    root = "/api/v1/"
    return {
        "study-detail": f"{root}studies/mine/",
        **{f"study-{verb}": f"{root}studies/mine/{verb}/" for verb in ("launch", "pause", "resume", "close", "reopen", "progress", "items")},
        "panel_studies": f"{root}studies/mine/panel/",
        "personal_links": f"{root}studies/mine/personal-links/",
        "personal_link": f"{root}studies/mine/personal-links/{listed.pk}/",
        "images": f"{root}studies/mine/images/",
        "image": f"{root}studies/mine/images/{make_image(study).pk}/",
        "material_import": f"{root}studies/mine/material/",
        "uploads": f"{root}studies/mine/uploads/",
        "upload_pieces": f"{root}studies/mine/uploads/pieces/",
        "file_import": f"{root}imports/{large.pk}/",
        "file_import_cancel": f"{root}imports/{large.pk}/cancel/",
        "file_import_problems": f"{root}imports/{large.pk}/problems/",
        "judgments": f"{root}studies/mine/judgments/",
        "study-newest-type": f"{root}studies/mine/newest-type/",
        "questionnaires": f"{root}studies/mine/questionnaires/",
        "questionnaire_answers": f"{root}studies/mine/questionnaires/answers/",
        "judgments_import": f"{root}studies/mine/judgments/import/",
        "judgments_export": f"{root}studies/mine/judgments/export/",
        "exclusions": f"{root}studies/mine/exclusions/",
        "exports": f"{root}studies/mine/exports/",
        "exclusion": f"{root}exclusions/{exclusion.pk}/",
        "exclusion_collect": f"{root}exclusions/{exclusion.pk}/collect/",
        "exclusion_lift": f"{root}exclusions/{exclusion.pk}/lift/",
        "messages": f"{root}studies/mine/messages/",
        "messages_settle": f"{root}studies/mine/messages/settle/",
        "messages_write": f"{root}studies/mine/messages/new/",
        "review": f"{root}studies/mine/review/",
        "review_undo": f"{root}studies/mine/review/undo/",
        "review_carry_out": f"{root}studies/mine/review/carry-out/",
        "payments": f"{root}studies/mine/payments/",
        "work_accept": f"{root}studies/mine/payments/accept/",
        "payment_undo": f"{root}studies/mine/payments/undo/",
        "bonus": f"{root}studies/mine/payments/bonus/",
        "pay_panel": f"{root}studies/mine/payments/panel/",
        "pay_settle": f"{root}studies/mine/payments/panel/settle/",
        "top_up": f"{root}studies/mine/payments/top-up/",
        "participants": f"{root}studies/mine/participants/",
        "members": f"{root}studies/mine/members/",
        "member": f"{root}members/{study.memberships.get().pk}/",
        "invitation": f"{root}invitations/{invitation.pk}/",
        "contested": f"{root}studies/mine/contested/",
        "written_answers": f"{root}studies/mine/written-answers/",
        "adjudication_queue": f"{root}studies/mine/adjudication/",
        "adjudicated": f"{root}studies/mine/adjudicated/",
        "item_adjudication": f"{root}items/{judgment.item_id}/adjudication/",
        "item": f"{root}items/{judgment.item_id}/",
        "item_correct": f"{root}items/{judgment.item_id}/correct/",
        "item_withdraw": f"{root}items/{judgment.item_id}/withdraw/",
        "duplicate": f"{root}studies/mine/duplicate/",
        "archive": f"{root}studies/mine/archive/",
        "delete": f"{root}studies/mine/delete/",
        "versions_compare": f"{root}studies/mine/versions/compare/",
        "rehearsal": f"{root}studies/mine/rehearsal/",
        "rehearsal_stop": f"{root}studies/mine/rehearsal/stop/",
        "export": f"{root}exports/{export.pk}/",
        "export_file": f"{root}exports/{export.pk}/file/",
    }  # fmt: skip


def test_every_address_is_in_the_access_lists() -> None:
    """Whoever adds an address must say who may use it."""
    names = {name for name in get_resolver("annotator.api.urls").reverse_dict if isinstance(name, str)}
    assert names == OPEN | {name for name, *_ in [*OF_STUDY, *OF_TYPE]} | {name for name, _ in OF_OWNER}


def ask(client: APIClient, address: str, method: str) -> int:
    return int(getattr(client, method)(address).status_code)


def test_anonymous_users_and_annotators_have_no_access(places: dict[str, str]) -> None:
    annotator = client_of(make_user("anna"))
    for name, method in [(name, method) for name, method, _ in OF_STUDY] + OF_OWNER:
        assert ask(APIClient(), places[name], method) == 401, name
        assert ask(annotator, places[name], method) == 403, name
    assert ask(APIClient(), "/api/v1/studies/", "get") == 401
    assert ask(annotator, "/api/v1/studies/", "get") == 403


def test_another_lab_gets_404_and_the_refusal_is_logged(
    places: dict[str, str], other: APIClient, caplog: pytest.LogCaptureFixture
) -> None:
    copy = lab_copy(Study.objects.get(slug="mine"), User.objects.get(username="otto"))
    for name, method in [(name, method) for name, method, _ in OF_STUDY] + OF_OWNER:
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert ask(other, places[name], method) == 404, name
        assert caplog.records, f"{name}: a refusal is logged"
    assert [one["slug"] for one in other.get("/api/v1/studies/").data["results"]] == [copy.slug]


def test_a_token_gives_access_to_its_owners_workspaces_only(
    places: dict[str, str], api: APIClient, other: APIClient
) -> None:
    lab_copy(Study.objects.get(slug="mine"), User.objects.get(username="otto"))
    assert [one["slug"] for one in api.get("/api/v1/studies/").data["results"]] == ["mine"]
    for name in ("study-items", "judgments", "exclusions", "study-progress"):
        assert "otherlab" not in api.get(places[name]).content.decode(), name
    assert "otherlab" not in b"".join(api.get(places["judgments_export"])).decode()


@pytest.mark.parametrize("by", ["study", "workspace"])
@pytest.mark.parametrize("role", ROLES)
def test_each_role_has_exactly_its_permissions(places: dict[str, str], role: str, by: str) -> None:
    user, study = make_user(f"u-{role}", staff=True), Study.objects.get(slug="mine")
    lab_copy(study, make_user("otto", staff=True))
    if by == "study":
        Membership.objects.create(study=study, user=user, role=role)
    else:
        WorkspaceMember.objects.create(workspace=study.workspace, user=user, role=role)
    client = client_of(user)
    for name, method, needed in OF_STUDY:
        code = ask(client, places[name], method)
        allowed = ROLES.index(role) >= ROLES.index(needed)
        assert (code != 404) == allowed, (name, method, code)
        assert code < 500
    for name, method in OF_OWNER:
        assert ask(client, places[name], method) == 404, "exports belong to who asked for them"


def test_a_removed_role_ends_access_at_once(places: dict[str, str], researcher: User, api: APIClient) -> None:
    assert ask(api, places["export"], "get") == 200
    Membership.objects.all().delete()
    WorkspaceMember.objects.all().delete()
    assert ask(api, places["export"], "get") == 404
    assert ask(api, places["study-detail"], "get") == 404


def test_a_superuser_sees_all(places: dict[str, str]) -> None:
    root = client_of(make_user("root", staff=True, is_superuser=True))
    assert root.get(places["study-detail"]).data["role"] == "superuser"
    assert [s["slug"] for s in root.get("/api/v1/studies/").data["results"]] == ["mine"]


@pytest.mark.parametrize("slug", ["no-such", "1", "9" * 60, "..", "mine%2F"])
def test_unknown_slugs_are_not_found(places: dict[str, str], api: APIClient, slug: str) -> None:
    assert api.get(f"/api/v1/studies/{slug}/").status_code == 404


def test_ids_too_large_for_the_database_are_not_found(places: dict[str, str], api: APIClient) -> None:
    assert api.get(f"/api/v1/exports/{10**17}/").status_code == 404
    assert api.get(f"/api/v1/exports/{10**40}/").status_code == 404


def test_a_session_needs_its_csrf_token(places: dict[str, str], researcher: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(researcher)
    assert client.get(places["study-detail"]).status_code == 200
    assert client.post(places["study-launch"]).status_code == 403


def test_errors_are_json(api: APIClient, other: APIClient) -> None:
    reply: Any = api.get("/api/v1/studies/nothing/")
    assert reply.json() == {"status": 404, "title": "Not Found", "detail": "no such study"}
