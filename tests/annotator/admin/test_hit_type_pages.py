"""The editor of HIT types: who may do what, problems at their line, and nothing lost when two people save."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from lxml import html

from annotator.hit_types.base import JSON, Stage
from annotator.hit_types.declaration.gallery import GALLERY
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.models import DeclaredType, Study, User, Workspace, WorkspaceMember
from annotator.services.declared_type import declared_type_copy
from annotator.services.workspace import workspace_create, workspace_personal
from tests.annotator.admin.hit_type_pages import PAGES, SENT
from tests.annotator.declared import CLARITY, clarity
from tests.annotator.hit_types.declaration.files import ARMS_FILE
from tests.factories import make_user

pytestmark = pytest.mark.django_db
LIST, PREVIEW = "/admin/annotator/declaredtype/", "/preview/hit-type/"
CLEARER = CLARITY.replace("Can it be understood at first reading?", "Is it clear at first reading?")


@pytest.fixture
def lab() -> Workspace:
    return workspace_create(by=make_user("ada", staff=True), name="Lab")


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text_of(reply: Any) -> str:
    """What a person reads of a page: the file is also in a hidden field."""
    return str(html.fromstring(reply.content).text_content())


def ada() -> Client:
    return browser(User.objects.get(username="ada"))


@pytest.mark.parametrize("who", ["viewer", "editor", "other lab", "annotator"])
def test_members_open_the_pages_by_their_role_and_nobody_else_does(who: str, lab: Workspace) -> None:
    made = clarity(lab).type
    user = make_user("eve", staff=who != "annotator")
    if who in ("viewer", "editor"):
        WorkspaceMember.objects.create(workspace=lab, user=user, role=who)
    client, mine = browser(user), workspace_personal(user=user)
    sent = {
        "save": "1",
        "source": CLARITY,
        "base": "1",
        "copy-name": "clarity_2",
        "copy-workspace": str(mine.pk),
    }
    for method, pages in (("get", PAGES), ("post", SENT)):
        for page, needed in pages.items():
            reply = getattr(client, method)(f"{LIST}{made.pk}/{page}", sent if method == "post" else {})
            allowed = who == "editor" or (who == "viewer" and needed == "viewer")
            assert reply.status_code in ((200, 302) if allowed else (404, 302, 403)), (method, page)
            if who == "other lab":
                assert reply.status_code == 404, (method, page)
                assert "clarity" not in reply.content.decode(), (method, page)
    assert DeclaredType.objects.filter(workspace=lab).exists() == (who != "editor"), (
        "only an editor deleted it"
    )


def test_the_list_has_the_types_of_ones_workspaces_with_a_constant_number_of_queries(
    lab: Workspace, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    made = clarity(lab).type
    client = ada()
    with django_assert_max_num_queries(12):
        assert f"{made.pk}/change/" in client.get(LIST).content.decode()
    for number in range(3):
        declared_type_copy(type=made, workspace=lab, by=None, name=f"clarity_{number}")
    with django_assert_max_num_queries(12):
        assert "clarity_2" in client.get(LIST).content.decode()
    assert "clarity" not in browser(make_user("eve", staff=True)).get(LIST).content.decode()


def test_a_new_type_starts_from_the_gallery_or_from_an_existing_one(lab: Workspace) -> None:
    made, client = clarity(lab).type, ada()
    page = client.get(f"{LIST}add/?from=gallery:summary_quality").content.decode()
    assert "name: my_summary_quality" in page
    assert client.get(f"{LIST}add/?from=gallery:../secrets").status_code == 404
    assert "name: clarity" in client.get(f"{LIST}add/?from=type:{made.pk}").content.decode()
    assert browser(make_user("eve", staff=True)).get(f"{LIST}add/?from=type:{made.pk}").status_code == 404
    source = (
        (GALLERY / "summary_quality.yaml")
        .read_text("utf-8")
        .replace("name: summary_quality", "name: my_quality")
    )
    sent = {"save": "1", "source": source, "base": "0", "workspace": str(lab.pk)}
    assert client.post(f"{LIST}add/", sent).status_code == 302
    assert DeclaredType.objects.filter(workspace=lab, name="my_quality").exists()


def test_a_file_with_problems_is_shown_again_with_their_lines(lab: Workspace) -> None:
    wrong = CLARITY.replace("kind: choice", "kind: chioce")
    reply = ada().post(f"{LIST}add/", {"save": "1", "source": wrong, "base": "0", "workspace": str(lab.pk)})
    page = reply.content.decode()
    assert reply.status_code == 400
    assert 'data-line="25"' in page
    assert "Did you mean choice?" in page
    assert "chioce" in page
    assert not DeclaredType.objects.exists()


def test_whoever_saves_second_is_told_and_keeps_their_text(lab: Workspace) -> None:
    made, client = clarity(lab).type, ada()
    bob = make_user("bob", staff=True)
    WorkspaceMember.objects.create(workspace=lab, user=bob, role="editor")
    address = f"{LIST}{made.pk}/change/"
    assert browser(bob).post(address, {"save": "1", "source": CLEARER, "base": "1"}).status_code == 302
    reply = client.post(address, {"save": "1", "source": CLARITY.replace("Our lab", "My lab"), "base": "1"})
    page = reply.content.decode()
    assert reply.status_code == 400
    assert "bob saved version 2 of clarity" in page
    assert "source: My lab" in page
    assert f"{made.pk}/versions/2/" in page
    assert made.versions.count() == 2
    assert client.get(f"{LIST}{made.pk}/versions/2/").content.decode() == CLEARER


@pytest.mark.parametrize(
    ("part", "shown"),
    [("task", "The cat sleeps on the stove."), ("exam", "Exam: 1 question"), ("practice", "The soup is hot."),
     ("instructions", "Your task"), ("prompt", "## Worked examples")],
)  # fmt: skip
def test_the_preview_shows_what_an_unsaved_file_makes(part: str, shown: str, lab: Workspace) -> None:
    reply = ada().post(PREVIEW, {"source": CLARITY, "part": part})
    assert reply.status_code == 200
    assert shown in reply.content.decode() or part == "prompt"
    assert "frame-ancestors 'self'" in reply["Content-Security-Policy"]
    assert reply["X-Frame-Options"] == "SAMEORIGIN"
    assert not DeclaredType.objects.exists()
    assert not Study.objects.exists()


def test_the_preview_goes_through_the_stages_and_refuses_wrong_answers(lab: Workspace) -> None:
    client, sent = ada(), {"source": CLARITY, "part": "task", "item": "0", "stage": "0"}
    assert "About a cat." not in text_of(client.post(PREVIEW, sent | {"clear": ""}))
    assert client.post(PREVIEW, sent | {"clear": "maybe"}).status_code == 422
    assert "About a cat." in text_of(client.post(PREVIEW, sent | {"clear": "yes"}))
    assert client.post(PREVIEW, {"source": "name: [", "part": "exam"}).status_code == 422


def test_only_researchers_preview(client: Client) -> None:
    assert client.post(PREVIEW, {"source": CLARITY}).status_code == 302
    assert browser(make_user()).post(PREVIEW, {"source": CLARITY}).status_code == 302
    assert client.get(reverse("annotator:preview_hit_type")).status_code == 405


def test_new_studies_offer_the_workspaces_own_types_to_members_only(lab: Workspace) -> None:
    clarity(lab)
    key = f"{lab.pk}:clarity"
    address = "/admin/annotator/study/add/"
    assert key in ada().get(address).content.decode()
    eve = make_user("eve", staff=True)
    assert key not in browser(eve).get(address).content.decode()
    own = workspace_personal(user=eve)
    sent = {"template": key, "title": "T", "slug": "t", "workspace": str(own.pk), "_save": "1"}
    assert browser(eve).post(address, sent).status_code == 400
    assert ada().post(address, sent | {"workspace": str(lab.pk)}).status_code == 302
    assert Study.objects.get().declaration_id


def test_an_upload_fills_the_editor_and_saves_nothing(lab: Workspace) -> None:
    from django.core.files.uploadedfile import SimpleUploadedFile

    file = SimpleUploadedFile("c.yaml", CLARITY.encode())
    page = ada().post(
        f"{LIST}add/", {"upload": "1", "source": "", "base": "0", "workspace": str(lab.pk), "file": file}
    )
    assert "name: clarity" in page.content.decode()
    broken = SimpleUploadedFile("c.yaml", b"\xff\xfe\x00")
    page = ada().post(
        f"{LIST}add/", {"upload": "1", "source": "", "base": "0", "workspace": str(lab.pk), "file": broken}
    )
    assert page.status_code == 400
    assert "isn't UTF-8 text" in page.content.decode().replace("&#x27;", "'")
    assert not DeclaredType.objects.exists()


def test_the_preview_shows_control_arms_with_their_practice_and_prompt(lab: Workspace) -> None:
    client, source = ada(), ARMS_FILE.read_text(encoding="utf-8")
    sent = {"source": source, "part": "task", "item": "1", "stage": "0"}
    shown = text_of(client.post(PREVIEW, sent))
    assert "You see no explanation here." in shown
    assert "All frozen water is white." not in shown
    assert "Is rain wet?" in text_of(client.post(PREVIEW, {"source": source, "part": "practice"}))
    assert "What will it say? (nothing)" in text_of(
        client.post(PREVIEW, {"source": source, "part": "prompt"})
    )
    assert "Some pages have no explanation." in text_of(
        client.post(PREVIEW, {"source": source, "part": "instructions"})
    )


def checks_on(reply: Any) -> list[str]:
    found = html.fromstring(reply.content).xpath("//ul[@class='declare__checks']/li")
    return [" ".join(one.text_content().split()) for one in found]


@pytest.mark.parametrize(
    ("source", "arms"),
    [(CLARITY, False), (ARMS_FILE.read_text(encoding="utf-8"), True)],
    ids=["plain", "arms"],
)
def test_the_page_of_a_saved_type_lists_what_it_passed(source: str, arms: bool, lab: Workspace) -> None:
    sent = {"save": "1", "source": source, "base": "0", "workspace": str(lab.pk)}
    passed = checks_on(ada().post(f"{LIST}add/", sent, follow=True))
    names = [
        "Items and answers of the file are read",
        "Every stage can be shown",
        "No stage contains what a later one shows",
        *["No control arm contains what it hides"] * arms,
        "A rater can do every task, and wrong input is refused",
        "A model's reply is read as the answer that it gives",
    ]
    assert [one.partition(" (")[0] for one in passed] == [f"Passed. {name}" for name in names]
    assert all(re.search(r"\(\d+ \w+.*\)$", one) or "one stage" in one for one in passed), passed
    assert sum("0 items" in one for one in passed) == 0


def test_the_page_says_which_check_a_file_fails(lab: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type whose second stage's column is already in the first is read without a problem, and isn't saved."""
    stages = DeclaredHitType.stages

    def leaking(own: DeclaredHitType, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        first, *rest = stages(own, payload, presentation)
        return replace(first, lead=str(payload.get("note", first.lead))), *rest

    monkeypatch.setattr(DeclaredHitType, "stages", leaking)
    sent = {"save": "1", "source": CLARITY, "base": "0", "workspace": str(lab.pk)}
    reply = ada().post(f"{LIST}add/", sent)
    assert reply.status_code == 400
    assert (
        "fails a check. No stage contains what a later one shows: stage first contains the column note"
        in text_of(reply)
    )
    assert checks_on(reply) == []
    assert not DeclaredType.objects.exists()
