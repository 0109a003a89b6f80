"""Misspelt fields of requests are refused with the name that was probably meant, and nothing changes."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from django.test import Client

import annotator
import evaluation
from annotator.core.known_keys import KnownKeys
from annotator.models import Study
from tests.factories import make_study, make_user

#: A serializer that is given what was sent.
READS = re.compile(r"\b(\w+Serializer)\(\s*[^)]*?\bdata=")


def api_modules() -> list[str]:
    roots = [Path(package.__file__).parent / "api" for package in (annotator, evaluation)]
    return [f"{root.parent.name}.api.{path.stem}" for root in roots for path in sorted(root.glob("*.py"))]


@pytest.mark.parametrize("name", api_modules())
def test_what_reads_a_request_refuses_unknown_fields(name: str) -> None:
    module = importlib.import_module(name)
    source = Path(str(module.__file__)).read_text()
    reading = {getattr(module, one) for one in READS.findall(source)}
    assert [one.__name__ for one in reading if not issubclass(one, KnownKeys)] == []


def test_the_search_finds_the_serializers_that_read() -> None:
    sources = "".join(Path(str(importlib.import_module(name).__file__)).read_text() for name in api_modules())
    assert {"StudySerializer", "StudyCreateSerializer", "NewRunSerializer"} <= set(READS.findall(sources))


@pytest.fixture
def owner(client: Client) -> Client:
    client.force_login(make_user("owner", staff=True))
    return client


@pytest.mark.django_db
def test_a_misspelt_setting_changes_nothing(owner: Client) -> None:
    study = make_study(by=Study._meta.apps.get_model("annotator.User").objects.get(username="owner"))
    sent = {"redundncy": 5, "title": "New"}
    answer = owner.patch(f"/api/v1/studies/{study.slug}/", sent, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"]) == (
        400,
        {"redundncy": ["is not known; did you mean redundancy?"]},
    )
    study.refresh_from_db()
    assert study.title != "New"


@pytest.mark.django_db
def test_a_misspelt_field_makes_no_study(owner: Client) -> None:
    sent = {"template": "simulation", "slug": "s", "title": "S", "pay_per_itm": "0.5", "zzz": 1}
    answer = owner.post("/api/v1/studies/", sent, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["errors"]["pay_per_itm"] == ["is not known; did you mean pay_per_item?"]
    assert answer.json()["errors"]["zzz"][0].startswith("is not known; expected one of: template, ")
    assert not Study.objects.filter(slug="s").exists()


@pytest.mark.django_db
def test_what_was_shown_can_be_sent_back(owner: Client) -> None:
    study = make_study(by=Study._meta.apps.get_model("annotator.User").objects.get(username="owner"))
    shown = owner.get(f"/api/v1/studies/{study.slug}/").json() | {"title": "New"}
    answer = owner.patch(f"/api/v1/studies/{study.slug}/", shown, content_type="application/json")
    assert (answer.status_code, answer.json().get("title")) == (200, "New")
