"""Every page of the admin: as anonymous, annotator, another researcher, and in each role."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from annotator.admin.study_pages.urls import patterns
from annotator.models import Export, Membership, Participation, Study, User, WorkspaceMember
from annotator.services.exclusion import exclusion_make
from annotator.services.exports import export_request
from tests.annotator.admin.study_pages import PAGES, SENT, address
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
def mine(researcher: User) -> Study:
    study = make_study(by=researcher, slug="mine", exam_required=True, panel="prolific", panel_study_ids="p1")
    judgment = make_judgment(make_item(study), make_rater("ann"))
    exclusion_make(study=study, by=researcher, judgment=judgment, reason="x")
    export_request(study=study, by=researcher)
    make_file_import(study, researcher)
    make_image(study)
    Participation.objects.create(study=study, rater=make_rater("pam"))
    return study


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_every_page_is_in_the_access_lists() -> None:
    """A new page must say who may see it."""
    found = set()
    for pattern in patterns(lambda view: view):
        page = str(pattern.pattern).removeprefix("<row:pk>/")
        page = page.replace("<slug:which>", "exam").replace("<slug:code>", "de")
        page = page.replace("languages/de/exam/<path:key>", "languages/de/exam/QUESTION")
        for name in ("item_pk", "judgment_pk", "exclusion_pk", "export_pk", "import_pk", "image_pk"):
            page = page.replace("<row:rater_pk>", "PERSON").replace(
                f"<row:{name}>", name.removesuffix("_pk").upper()
            )
        for what in ("rater", "item", "judgment"):
            page = page.replace(f"exclude/{what}/<row:target_pk>", f"exclude/{what}/{what.upper()}")
        found.add(page)
    listed = {page.partition("?")[0] for page in [*PAGES, *SENT]}
    assert found == listed | {
        "exports/EXPORT/",
        "api-token/",
        "emails/",
        "deleted/",
        "exam/exam/question/<path:key>/",
    }


def test_anonymous_users_and_annotators_are_redirected_to_the_login(mine: Study) -> None:
    for client in (Client(), logged_in(make_user("anna"))):
        for page in [*PAGES, *SENT]:
            for reply in (client.get(address(mine, page)), client.post(address(mine, page))):
                assert reply.status_code == 302, page
                assert reply["Location"].startswith("/admin/login/"), page


@pytest.fixture
def stranger(mine: Study) -> User:
    """The owner of another lab that has the same names, people and objects as the first one."""
    user = make_user("otto", staff=True)
    lab_copy(mine, user)
    return user


def test_another_lab_gets_404_and_the_refusal_is_logged(
    mine: Study, stranger: User, caplog: pytest.LogCaptureFixture
) -> None:
    client = logged_in(stranger)
    for method, pages in (("get", PAGES), ("post", SENT)):
        for page in pages:
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                reply = getattr(client, method)(address(mine, page))
            assert reply.status_code == 404, (method, page)
            assert any("denied" in record.getMessage() for record in caplog.records), (method, page)
    export = Export.objects.get(study=mine)
    assert client.get(f"/admin/annotator/study/{mine.pk}/exports/{export.pk}/").status_code == 404
    mine.refresh_from_db()
    assert (mine.state, mine.memberships.count(), mine.judgments.count()) == ("draft", 1, 1)


@pytest.mark.parametrize(
    ("role", "by"), [*((role, "study") for role in ROLES), ("reviewer", "workspace"), ("owner", "workspace")]
)
def test_each_role_has_exactly_its_permissions(mine: Study, stranger: User, role: str, by: str) -> None:
    user = make_user(f"u-{role}", staff=True)
    if by == "study":
        Membership.objects.create(study=mine, user=user, role=role)
    else:
        WorkspaceMember.objects.create(workspace=mine.workspace, user=user, role=role)
    client = logged_in(user)
    for page, needed in PAGES.items():
        reply = client.get(address(mine, page))
        allowed = ROLES.index(role) >= ROLES.index(needed)
        assert reply.status_code == (200 if allowed else 404), (page, reply.status_code)
    for page, needed in SENT.items():
        if ROLES.index(role) < ROLES.index(needed):
            assert client.post(address(mine, page)).status_code == 404, page
    mine.refresh_from_db()
    assert mine.state == "draft"


def test_pages_of_one_lab_show_nothing_of_the_other(mine: Study, stranger: User, researcher: User) -> None:
    client = logged_in(researcher)
    for page in PAGES:
        shown = client.get(address(mine, page))
        assert shown.status_code == 200, page
        if not shown.streaming:
            assert "otherlab" not in shown.content.decode(), page


def test_objects_of_another_study_are_not_found(mine: Study, researcher: User) -> None:
    other = make_study(by=researcher)
    theirs = make_judgment(make_item(other), make_rater("zoe"))
    client = logged_in(researcher)
    for page in (
        f"items/{theirs.item_id}/",
        f"judgments/{theirs.pk}/",
        f"exclude/item/{theirs.item_id}/",
        f"exclude/judgment/{theirs.pk}/",
        f"exclude/rater/{theirs.rater_id}/",
    ):
        assert client.get(f"/admin/annotator/study/{mine.pk}/{page}").status_code == 404, page


@pytest.mark.parametrize("pk", ["0", "999999", "9" * 18])
def test_unknown_ids_are_not_found(researcher: User, pk: str) -> None:
    client = logged_in(researcher)
    for page in ("items/", "raters/", "import/"):
        assert client.get(f"/admin/annotator/study/{pk}/{page}").status_code == 404


def test_tokens_are_never_listed(researcher: User) -> None:
    root = logged_in(make_user("root", staff=True, is_superuser=True))
    assert root.get("/admin/authtoken/tokenproxy/").status_code == 404
