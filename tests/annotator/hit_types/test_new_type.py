"""The files in docs/add-a-hit-type.md, put into a folder, are a type that works everywhere."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotator.hit_types.base import HitType
from annotator.models import Judgment, Study, User
from annotator.services.api_tokens import api_token_make
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create, study_launch
from tests.annotator.admin.study_forms import ROOT, sent_form
from tests.bot import Bot
from tests.contracts import test_hit_type_prompts, test_hit_type_questions, test_hit_types
from tests.new_type import MATERIAL, clarity  # noqa: F401


@pytest.fixture(autouse=True)
def _toy_type() -> None:
    """The registry as it is."""


def test_the_new_type_fulfils_the_contract(clarity: HitType) -> None:  # noqa: F811
    modules = (test_hit_types, test_hit_type_questions, test_hit_type_prompts)
    checks = [check for one in modules for name, check in vars(one).items() if name.startswith("test_")]
    assert len(checks) > 20
    for check in checks:
        check(clarity)


@pytest.fixture
def study(clarity: HitType, researcher: User) -> Study:  # noqa: F811
    study = study_create(
        by=researcher, hit_type="clarity", slug="clear", title="Clear?", completion_code="DONE"
    )
    material_import(study=study, file=io.BytesIO(MATERIAL.encode()), name="clear.jsonl")
    study_launch(study=study, by=researcher)
    study.refresh_from_db()
    return study


@pytest.mark.django_db
def test_people_can_answer_items_of_the_new_type(study: Study) -> None:
    page = Bot(study).whole_way(most=3)
    assert "DONE" in page.content.decode()
    assert {judgment.response["clear"] for judgment in Judgment.objects.filter(study=study)} <= {"yes", "no"}
    assert Judgment.objects.filter(study=study, source="web").count() == 3


@pytest.mark.django_db
def test_a_study_of_the_new_type_is_created_filled_previewed_and_launched(
    clarity: HitType,  # noqa: F811
    researcher: User,
    settings: Any,
    tmp_path: Any,
) -> None:
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "files")},
        }
    }
    client = Client()
    client.force_login(researcher)
    add = reverse("admin:annotator_study_add")
    assert clarity.title in client.get(add).content.decode()
    client.post(add, {"template": "clarity", "title": "Clear?", "slug": "clear"})
    study = Study.objects.get(slug="clear")
    where = f"{ROOT}{study.pk}/import/"
    look = client.post(where, {"file": SimpleUploadedFile("c.jsonl", MATERIAL.encode())}).content.decode()
    assert "3 items from 3 rows" in look
    client.post(where, sent_form(look) | {"import": "1"})
    assert study.items.count() == 3
    preview = client.get(reverse("annotator:preview", args=[study.pk])).content.decode()
    assert "Can it be understood at first reading?" in preview
    for which in ("exam", "practice"):
        shown = client.get(reverse("annotator:preview_questions", args=[study.pk, which])).content.decode()
        assert "Can it be understood at first reading?" in shown
    client.post(f"{ROOT}{study.pk}/do/launch/")
    study.refresh_from_db()
    assert study.state == "live"
    for page in ("change/", "exam/", "items/", "judgments/", "raters/", "exports/", "live/"):
        assert client.get(f"{ROOT}{study.pk}/{page}").status_code == 200, page


@pytest.mark.django_db
def test_the_api_lists_the_new_type_and_creates_a_study_of_it(clarity: HitType, researcher: User) -> None:  # noqa: F811
    client = Client(headers={"Authorization": f"Token {api_token_make(user=researcher)}"})
    types = {one["name"]: one for one in client.get("/api/v1/hit-types/").json()}
    assert types["clarity"]["columns"][0]["name"] == "sentence"
    sent = {"template": "clarity", "slug": "clear", "title": "Clear?"}
    assert client.post("/api/v1/studies/", sent, content_type="application/json").status_code == 201
    where = "/api/v1/studies/clear/"
    taken = client.post(where + "material/", MATERIAL, content_type="application/x-ndjson")
    assert taken.json()["items"] == 3
    assert client.post(where + "launch/").status_code == 200
    Bot(Study.objects.get(slug="clear")).whole_way(most=3)
    rows = client.get(where + "judgments/").json()["results"]
    assert [set(row["response"]) for row in rows] == [{"clear"}] * 3
    export = client.get(where + "judgments/export/")
    assert b"response.clear" in b"".join(export.streaming_content)
