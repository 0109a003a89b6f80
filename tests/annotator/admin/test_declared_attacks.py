"""Types of workspaces under attack: numbers of another lab's types, files that are too large or hostile, two people at once, a killed request."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from annotator.models import Declaration, DeclaredType, DeclaredVersion, Study, User, Workspace
from annotator.services import declared_type as service
from annotator.services import study as study_service
from annotator.services.api_tokens import api_token_make
from annotator.services.declared_type import declared_type_save
from annotator.services.study import study_create, study_launch
from annotator.services.workspace import workspace_create, workspace_personal
from tests.annotator.declared import CLARITY, clarity, clarity_study
from tests.annotator.questionnaires import questionnaire_saved
from tests.factories import make_user

LIST, PREVIEW, API = "/admin/annotator/declaredtype/", "/preview/hit-type/", "/api/v1/"
CLEARER = CLARITY.replace("Can it be understood at first reading?", "Is it clear at first reading?")


def page_of(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def api_of(user: User) -> Client:
    return Client(
        raise_request_exception=False, headers={"Authorization": f"Token {api_token_make(user=user)}"}
    )


@pytest.fixture
def lab(db: None) -> Workspace:
    return workspace_create(by=make_user("ada", staff=True), name="Secret lab")


@pytest.mark.parametrize("kind", ["hit-types", "questionnaires"])
def test_another_labs_numbers_lead_nowhere(kind: str, lab: Workspace) -> None:
    """Also as a workspace to save into, as a start of the editor, as a template and in a study's settings."""
    ada = User.objects.get(username="ada")
    questionnaire, own_type = questionnaire_saved(lab, ada), clarity(lab, ada).type
    target = own_type if kind == "hit-types" else questionnaire
    source = DeclaredVersion.objects.get(type=target).declaration.source
    model = "declaredtype" if kind == "hit-types" else "declaredquestionnaire"
    eve = make_user("eve", staff=True)
    page, api, pages = page_of(eve), api_of(eve), f"/admin/annotator/{model}/"
    one, root = f"{pages}{target.pk}/", f"{API}{kind}/{target.pk}/"
    if kind == "questionnaires":
        root = f"{API}questionnaires/own/{target.pk}/"
    save = {"save": "1", "source": source, "base": "0", "workspace": str(lab.pk)}
    copied = {"copy-name": "mine", "copy-workspace": str(lab.pk)}
    mine = page.post(f"{pages}add/", {**save, "workspace": str(workspace_personal(user=eve).pk)})
    own = DeclaredType.objects.exclude(workspace=lab).get()
    assert mine.status_code == 302
    replies = {
        "start": page.get(f"{pages}add/?from=type:{target.pk}"),
        "open": page.get(f"{one}change/"),
        "save": page.post(f"{one}change/", save),
        "download": page.get(f"{one}versions/1/"),
        "copy": page.post(f"{one}copy/", {**copied, "copy-workspace": str(own.workspace_id)}),
        "delete": page.post(f"{one}delete/", {"sure": "1"}),
        "read": api.get(root),
        "versions": api.get(f"{root}versions/"),
        "version": api.post(f"{root}versions/", {"source": source}, content_type="application/json"),
        "copied": api.post(f"{root}copy/", {}, content_type="application/json"),
        "deleted": api.delete(root),
    }
    assert {name: reply.status_code for name, reply in replies.items()} == dict.fromkeys(replies, 404)
    into = {
        "new": page.post(f"{pages}add/", save),
        "copy": page.post(f"{pages}{own.pk}/copy/", copied),
    }
    assert {name: reply.status_code for name, reply in into.items()} == dict.fromkeys(into, 400)
    own_root = root.replace(f"/{target.pk}/", f"/{own.pk}/")
    body = {"source": source, "workspace": lab.pk}
    for address, sent in (
        (root.replace(f"{target.pk}/", "") if kind == "questionnaires" else f"{API}hit-types/own/", body),
        (f"{own_root}copy/", {"name": "mine", "workspace": lab.pk}),
    ):
        assert api.post(address, sent, content_type="application/json").status_code == 404, address
    for reply in (*replies.values(), *into.values()):
        assert "Secret lab" not in reply.content.decode()
    assert DeclaredType.objects.filter(workspace=lab).count() == 2


def test_another_labs_questionnaire_is_no_setting_of_a_study(lab: Workspace) -> None:
    questionnaire_saved(lab, User.objects.get(username="ada"))
    eve = make_user("eve", staff=True)
    sent = {"template": "simulation", "slug": "s", "title": "S"}
    assert api_of(eve).post(f"{API}studies/", sent, content_type="application/json").status_code == 201
    reply = api_of(eve).patch(
        f"{API}studies/s/", {"questionnaire_before": "reading"}, content_type="application/json"
    )
    assert reply.status_code == 400
    assert "How often do you read" not in reply.content.decode()


#: A small file that would be a gigabyte, and others that are large, deep or slow in some readers.
HOSTILE = {
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "merges": "a: {b: 1}\nc: {<<: {d: 1}}\n",
    "tags": "a: !!python/object/apply:os.system [id]\n",
    "depth": "[" * 200_000,
    "keys": "? " * 200_000,
    "quotes": '"' + "\\" * 400_000,
    "numbers": "a: " + "9" * 400_000,
    "values": "a: [" + "1," * 300_000 + "]",
    "problems": "a" + ": 1\nb".join(map(str, range(40_000))),
    "ten megabytes": "a: " + "x" * 10_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_quickly_everywhere(name: str, researcher: User) -> None:
    source, page, api = HOSTILE[name], page_of(researcher), api_of(researcher)
    about = {"base": "0", "workspace": str(workspace_personal(user=researcher).pk)}
    file = SimpleUploadedFile("a.yaml", source.encode())
    replies = [
        page.post(PREVIEW, {"source": source, "part": "task"}),
        page.post(f"{LIST}add/", {"save": "1", "source": source} | about),
        page.post(f"{LIST}add/", {"upload": "1", "source": "", "file": file} | about),
        api.post(f"{API}hit-types/check/", {"source": source}, content_type="application/json"),
        api.post(f"{API}hit-types/own/", {"source": source}, content_type="application/json"),
    ]
    codes = [reply.status_code for reply in replies]
    assert set(codes) <= {200, 400, 413, 422}, codes
    assert codes[1] != 200
    assert codes[4] != 201
    assert not DeclaredType.objects.exists()
    assert not Declaration.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("base", [0, 1])
def test_of_two_researchers_who_save_at_once_one_is_told(base: int) -> None:
    """As a new type, or as the next version of one that both have open."""
    ada = make_user("ada", staff=True)
    lab = workspace_personal(user=ada)
    address = f"{LIST}add/"
    if base:
        address = f"{LIST}{clarity(lab, ada).type_id}/change/"
    together, replies = threading.Barrier(4), []

    def save(number: int) -> None:
        try:
            client = page_of(ada)
            source = CLEARER.replace("Our lab", f"Lab {number}")
            together.wait(60)
            sent = {"save": "1", "source": source, "base": str(base), "workspace": str(lab.pk)}
            replies.append(client.post(address, sent))
        finally:
            connection.close()

    people = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for one in people:
        one.start()
    for one in people:
        one.join(120)
    assert sorted(reply.status_code for reply in replies) == [302, 400, 400, 400]
    told = [reply.content.decode() for reply in replies if reply.status_code == 400]
    assert all(f"ada saved version {base + 1} of clarity" in page for page in told)
    assert DeclaredType.objects.count() == 1
    assert [one.number for one in DeclaredVersion.objects.order_by("number")] == [*range(1, base + 2)]
    assert Declaration.objects.count() == base + 1


class Killed(BaseException):
    """The process ends here."""


def killed(*args: Any, **kwargs: Any) -> None:
    raise Killed


@pytest.mark.django_db(transaction=True)
def test_a_kill_while_a_type_is_saved_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = make_user("ada", staff=True)
    lab = workspace_personal(user=ada)
    with monkeypatch.context() as patch:
        patch.setattr(service, "audit_write", killed)  # the last step, when all rows are written
        with pytest.raises(Killed):
            clarity(lab, ada)
    for model in (DeclaredType, DeclaredVersion, Declaration):
        assert not model.objects.exists()
    assert clarity(lab, ada).number == 1


@pytest.mark.django_db(transaction=True)
def test_a_kill_between_save_and_launch_leaves_a_draft_that_can_be_launched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The study keeps the version that it was made with, though a later one was saved meanwhile."""
    ada = make_user("ada", staff=True)
    lab = workspace_personal(user=ada)
    first = clarity(lab, ada)
    with monkeypatch.context() as patch:
        patch.setattr(study_service, "places_make", killed)  # the snapshot is written, the places aren't
        with pytest.raises(Killed):
            clarity_study(lab, ada)
    study = Study.objects.get()
    assert (study.state, study.snapshot) == ("draft", None)
    declared_type_save(workspace=lab, by=ada, source=CLEARER, base=1)
    snapshot = study_launch(study=study, by=ada)
    assert snapshot.content["hit_type_version"] == first.version
    assert (
        study_create(by=ada, hit_type="clarity", slug="new", title="N").declaration_id != first.declaration_id
    )
