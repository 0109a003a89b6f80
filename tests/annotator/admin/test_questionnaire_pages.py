"""The editor of a workspace's questionnaires: roles, starts, problems at their line, and the page that a file makes."""

from __future__ import annotations

import pytest
from django.test import Client

from annotator.models import DeclaredType, User, Workspace, WorkspaceMember
from annotator.services.declared_type import declared_type_save
from annotator.services.workspace import workspace_create
from tests.annotator.admin.hit_type_pages import PAGES, SENT
from tests.annotator.questionnaires import READING, READING_2
from tests.factories import make_user

pytestmark = pytest.mark.django_db
LIST, PREVIEW = "/admin/annotator/declaredquestionnaire/", "/preview/questionnaire/"


@pytest.fixture
def lab() -> Workspace:
    return workspace_create(by=make_user("ada", staff=True), name="Lab")


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def ada() -> Client:
    return browser(User.objects.get(username="ada"))


@pytest.mark.parametrize("who", ["viewer", "editor", "other lab", "annotator"])
def test_members_open_the_pages_by_their_role_and_nobody_else_does(who: str, lab: Workspace) -> None:
    made = declared_type_save(workspace=lab, by=None, source=READING).type
    user = make_user("eve", staff=who != "annotator")
    if who in ("viewer", "editor"):
        WorkspaceMember.objects.create(workspace=lab, user=user, role=who)
    client = browser(user)
    sent = {
        "save": "1",
        "source": READING,
        "base": "1",
        "copy-name": "reading_2",
        "copy-workspace": str(lab.pk),
    }
    for method, pages in (("get", PAGES), ("post", SENT)):
        for page, needed in pages.items():
            code = getattr(client, method)(
                f"{LIST}{made.pk}/{page}", sent if method == "post" else {}
            ).status_code
            allowed = who == "editor" or (who == "viewer" and needed == "viewer")
            # A viewer may copy, but not into a workspace in which they may only read.
            assert code in ((200, 302, 400) if allowed else (404, 302, 403)), (method, page)
            if who == "other lab":
                assert code == 404, (method, page)
    assert DeclaredType.objects.filter(name="reading").exists() == (who != "editor")


def test_a_questionnaire_starts_from_one_that_comes_with_foretell_and_is_saved(lab: Workspace) -> None:
    client = ada()
    page = client.get(f"{LIST}add/?from=gallery:trust").content.decode()
    assert "name: my_trust" in page
    assert "New questionnaire" in page
    assert "Try it" not in page
    assert client.get(f"{LIST}add/?from=gallery:summary_quality").status_code == 404
    sent = {
        "save": "1",
        "source": READING.replace("kind: text", "kind: txet"),
        "base": "0",
        "workspace": str(lab.pk),
    }
    wrong = client.post(f"{LIST}add/", sent)
    assert wrong.status_code == 400
    assert 'data-line="14"' in wrong.content.decode()
    assert client.post(f"{LIST}add/", sent | {"source": READING}).status_code == 302
    made = DeclaredType.objects.get()
    assert (made.kind, made.name) == ("questionnaire", "reading")
    address = f"{LIST}{made.pk}/change/"
    assert client.post(address, {"save": "1", "source": READING_2, "base": "1"}).status_code == 302
    page = client.get(address).content.decode()
    assert "for fun" in page
    assert "Every question can be left blank" in page
    assert client.get(f"{LIST}{made.pk}/versions/1/").content.decode() == READING
    assert "Your reading" in client.get(LIST).content.decode()
    assert "Your reading" not in client.get("/admin/annotator/declaredtype/").content.decode()
    assert client.get(f"/admin/annotator/declaredtype/{made.pk}/change/").status_code == 404


def test_the_preview_shows_the_page_and_what_is_wrong_with_answers(lab: Workspace) -> None:
    client, sent = ada(), {"source": READING, "part": "before"}
    page = client.post(PREVIEW, sent)
    assert page.status_code == 200
    assert "How often do you read for pleasure?" in page.content.decode()
    assert "before you start" in page.content.decode()
    assert "at the end" in client.post(PREVIEW, sent | {"part": "after"}).content.decode()
    assert client.post(PREVIEW, sent | {"q1-often": "9"}).status_code == 422
    assert client.post(PREVIEW, sent | {"q1-often": "4"}).status_code == 200
    assert (
        "line 8"
        in client.post(PREVIEW, sent | {"source": READING.replace("kind: scale", "kind: x")}).content.decode()
    )
    assert page["X-Frame-Options"] == "SAMEORIGIN"
    assert browser(make_user("anna")).post(PREVIEW, sent).status_code == 302
