"""A list of people with personal links: read from a file, all or nothing; on its page, over the API and by the command."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.models import AuditEntry, PersonalLink, Study, User
from annotator.services.personal_links import PersonListed, people_read, personal_links_make
from tests.annotator.api.conftest import client_of
from tests.annotator.web.sent_links import address, joins
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(items=2, launched=True, panel="personal", by=researcher, slug="owls")


def read(content: bytes, name: str = "class.csv") -> tuple[list[PersonListed], list[str]]:
    log = FaultLog(name)
    people = people_read(io.BytesIO(content), name=name, log=log)
    return people, [str(fault) for fault in log.faults]


@pytest.mark.parametrize(
    "content",
    [
        "name,email,id\nÄnn,ann@lab.example,7\n".encode(),
        "\ufeffName;E-Mail;ID\r\nÄnn;ann@lab.example;7\r\n".encode(),
        "id\temail\tname\n7\tann@lab.example\t Änn \n".encode(),
        "name,email,id\nÄnn,ann@lab.example,7\n".encode("utf-16"),
    ],
    ids=["commas", "byte-order mark and semicolons", "tabs", "UTF-16"],
)
def test_every_usual_file_is_read(content: bytes) -> None:
    assert read(content) == ([PersonListed(2, "Änn", "ann@lab.example", "7")], [])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"name,email\nAnn,ann@lab\n", "class.csv:2: email: 'ann@lab': expected an email address"),
        (b"name,email\nAnn,\n,\n", "class.csv:3: is empty; expected a name, an email address or an id"),
        (b"name,phone\nAnn,1\n", "class.csv:1: phone: isn't a column of a list; expected name, email and id"),
        (b"id\n" + b"x" * 101 + b"\n", "class.csv:2: id: has 101 characters; expected at most 100"),
        (b"name\nAnn\n\xff\xfe\n", "class.csv:3"),
    ],
)
def test_every_fault_has_its_line(content: bytes, fault: str) -> None:
    _, faults = read(content)
    assert [one[: len(fault)] for one in faults] == [fault]


def made(study: Study, content: str) -> list[PersonalLink]:
    log = FaultLog("class.csv")
    people = people_read(io.BytesIO(content.encode()), name="class.csv", log=log)
    return personal_links_make(study=study, people=people, by=None, log=log)


def test_a_list_is_added_whole_or_not_at_all(study: Study) -> None:
    made(study, "email\nann@lab.example\n")
    with pytest.raises(FileRefused) as refused:
        made(study, "email,id\nbob@lab.example,1\nBOB@lab.example,2\nANN@lab.example,1\n")
    assert str(refused.value).splitlines() == [
        "class.csv:3: email: 'BOB@lab.example': is on line 2 already",
        "class.csv:4: email: 'ANN@lab.example': is on the study's list already",
        "class.csv:4: id: '1': is on line 2 already",
    ]
    assert study.personal_links.count() == 1
    with pytest.raises(FileRefused, match="has no people"):
        made(study, "name\n")


def test_a_study_without_this_panel_has_no_list() -> None:
    with pytest.raises(ValidationError, match="as the recruitment panel"):
        made(make_study(items=1), "name\nAnn\n")


def page(client: Client, study: Study, **sent: Any) -> Any:
    url = f"/admin/annotator/study/{study.pk}/recruitment/links/"
    return client.post(url, sent) if sent else client.get(url)


def upload(content: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("class.csv", content.encode())


def test_the_page_adds_lists_and_changes_links(study: Study, researcher: User) -> None:
    client = Client()
    client.force_login(researcher)
    wrong = page(client, study, file=upload("name,email\nAnn,nobody\n"))
    assert wrong.status_code == 400
    assert "class.csv:2: email" in wrong.content.decode()
    assert page(client, study, file=upload("name,id\n=Ann,7\nBob,8\n")).status_code == 302
    ann, bob = study.personal_links.all()
    file = client.get(f"/admin/annotator/study/{study.pk}/recruitment/links.csv")
    rows = list(csv.DictReader(io.StringIO(file.content.decode())))
    assert [(one["id"], one["state"], one["person"]) for one in rows] == [
        ("7", "works", ann.person),
        ("8", "works", bob.person),
    ]
    assert rows[0]["name"] == "'=Ann", "no formula for a spreadsheet"
    assert Client().get(rows[0]["link"]).status_code == 200
    page(client, study, do="revoke", link=ann.pk)
    assert Client().get(rows[0]["link"]).status_code == 403
    page(client, study, do="renew", link=ann.pk)
    page(client, study, do="remove", link=bob.pk)
    [left] = study.personal_links.all()
    assert (left.pk, left.state, left.link != ann.link) == (ann.pk, "works", True)
    shown = page(client, study).content.decode()
    assert "not yet" in shown
    entries = str(list(AuditEntry.objects.values("target", "before", "after")))
    assert "personal links" in entries
    assert not any(text in entries for text in ("=Ann", "Bob"))


def test_the_api_does_the_same(study: Study, researcher: User) -> None:
    client = client_of(researcher)
    url = f"/api/v1/studies/{study.slug}/personal-links/"
    refused = client.post(url, {"people": [{"name": "Ann"}, {"email": "nobody"}, {}]}, format="json")
    assert refused.status_code == 400
    assert [fault["line"] for fault in refused.json()["faults"]] == [2, 3]
    late = (timezone.now() - timedelta(days=1)).isoformat()
    assert (
        client.post(url, {"people": [{"name": "Ann"}], "expires_at": late}, format="json").status_code == 400
    )
    [ann] = client.post(url, {"people": [{"name": "Ann"}]}, format="json").json()["added"]
    assert Client().get(ann["link"]).status_code == 200
    one = f"{url}{ann['key']}/"
    assert client.patch(one, {"action": "revoke"}, format="json").json()["state"] == "revoked"
    again = client.patch(one, {"action": "renew"}, format="json").json()
    assert (again["state"], again["link"] != ann["link"]) == ("works", True)
    assert [row["name"] for row in client.get(url).json()["results"]] == ["Ann"]
    assert client.delete(one).status_code == 204
    assert not study.personal_links.exists()


def test_the_command_does_the_same(study: Study, tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        out = io.StringIO()
        call_command("personal_links", study.slug, *arguments, stdout=out)
        return out.getvalue()

    file = tmp_path / "class.csv"
    file.write_text("name,email\nAnn,ann@lab.example\n", encoding="utf-8")
    [row] = csv.DictReader(io.StringIO(said("add", str(file), "--site", "https://lab.example")))
    assert row["link"].startswith("https://lab.example/join/")
    with pytest.raises(CommandError, match=r"class\.csv:2: email: .* on the study's list already"):
        said("add", str(file), "--site", "https://lab.example")
    said("revoke", "ANN@lab.example")
    assert "revoked" in said("list", "--site", "https://lab.example")
    said("remove", row["person"])
    with pytest.raises(CommandError, match="nobody on the list"):
        said("remove", "ann@lab.example")


def test_names_are_in_no_export(study: Study, researcher: User) -> None:
    [ann] = made(study, "name,email,id\nAnn Example,ann@lab.example,matr-123\n")
    assert joins(Client(), address(ann)) is not None
    client = Client()
    client.force_login(researcher)
    for where in ("payments/owed.csv", "download/", "participants/", "raters/", "live/"):
        reply = client.get(f"/admin/annotator/study/{study.pk}/{where}")
        content = reply.getvalue().decode(errors="replace")
        assert not any(text in content for text in ("Ann Example", "ann@lab.example", "matr-123")), where
