"""docs/add-a-hit-type.md, followed: its files dropped into a folder are a type that works everywhere."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

import annotator.hit_types
from annotator.hit_types import registry
from annotator.hit_types.base import HitType
from annotator.models import Judgment, Study, User
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create, study_launch
from tests.bot import Bot
from tests.contracts import test_hit_types as contract

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "add-a-hit-type.md"
FILES = re.compile(r"^File `([^`]+)`:\n\n(`{3,})\w+\n(.*?)^\2$", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _toy_type() -> None:
    """The registry as it is."""


@pytest.fixture
def clarity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HitType]:
    """The guide's type, from a folder that the product has never seen."""
    for name, _, content in FILES.findall(GUIDE.read_text(encoding="utf-8")):
        path = tmp_path / "clarity" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.setattr(annotator.hit_types, "__path__", [*annotator.hit_types.__path__, str(tmp_path)])
    registry.hit_types.cache_clear()
    yield registry.hit_type_get("clarity")
    registry.hit_types.cache_clear()
    for name in [n for n in sys.modules if n.startswith("annotator.hit_types.clarity")]:
        del sys.modules[name]
    delattr(annotator.hit_types, "clarity")


def test_it_keeps_the_contract(clarity: HitType) -> None:
    checks = [check for name, check in vars(contract).items() if name.startswith("test_")]
    assert len(checks) > 20
    for check in checks:
        check(clarity)


@pytest.fixture
def study(clarity: HitType, researcher: User) -> Study:
    study = study_create(
        by=researcher, hit_type="clarity", slug="clear", title="Clear?", completion_code="DONE"
    )
    lines = "\n".join(
        json.dumps({"sentence": f"Sentence {n} is short.", "gold": {"clear": "yes"}}) for n in range(3)
    )
    material_import(study=study, file=io.BytesIO(lines.encode()), name="clear.jsonl")
    study_launch(study=study, by=researcher)
    study.refresh_from_db()
    return study


@pytest.mark.django_db
def test_people_work_on_it(study: Study) -> None:
    page = Bot(study).whole_way(most=3)
    assert "DONE" in page.content.decode()
    assert {judgment.response["clear"] for judgment in Judgment.objects.filter(study=study)} <= {"yes", "no"}
    assert Judgment.objects.filter(study=study, source="web").count() == 3


@pytest.mark.django_db
def test_the_admin_previews_it_and_the_api_lists_it(study: Study, researcher: User, client: Client) -> None:
    client.force_login(researcher)
    change = client.get(reverse("admin:annotator_study_change", args=[study.pk]))
    assert change.status_code == 200
    preview = client.get(reverse("annotator:preview", args=[study.pk]))
    assert preview.status_code == 200
    assert "Can it be understood at first reading?" in preview.content.decode()
    types = client.get("/api/v1/hit-types/")
    assert types.status_code == 200
    assert "clarity" in [one["name"] for one in types.json()]


def test_a_model_is_asked_the_same(clarity: HitType) -> None:
    payload = clarity.parse_item({"sentence": "Snow falls."}).payload
    assert clarity.prompt(payload)[-1].content == "Snow falls."
    assert clarity.parse_reply("Plain.\nANSWER: YES", payload) == {"clear": "yes"}
