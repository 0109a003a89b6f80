"""A type from a file, from a row of a file to a report: by people over HTTP, with everything that a type in Python has."""

from __future__ import annotations

import io
import json

import pytest
from django.test import Client

from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_type_get
from annotator.models import Judgment, User
from annotator.services.api_tokens import api_token_make
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create, study_launch
from tests.bot import Bot
from tests.evaluation.reports.studies import computed


@pytest.mark.django_db
def test_people_judge_pairs_without_names_and_a_report_is_made(researcher: User) -> None:
    kind = hit_type_get("pairwise_preference")
    assert isinstance(kind, DeclaredHitType)
    study = study_create(
        by=researcher, hit_type=kind.name, slug="pairs", title="Pairs", completion_code="DONE", redundancy=2
    )
    rows = [json.dumps(case["item"]) for case in kind.declaration["material"][:2]]
    material_import(study=study, file=io.BytesIO("\n".join(rows).encode()), name="pairs.jsonl")
    snapshot = study_launch(study=study, by=researcher)
    assert snapshot.content["hit_type_version"] == kind.version
    study.refresh_from_db()
    for _ in range(2):
        bot = Bot(study)
        assert "DONE" in bot.whole_way(most=2).content.decode()
    task = next(text for path, text in bot.seen if "/task/" in path and "Response 1" in text)
    assert task.index("Response 1") < task.index("Response 2")
    found = Judgment.objects.filter(study=study)
    assert found.count() == 4
    assert {judgment.response["better"] for judgment in found} <= {"response_a", "response_b", "equal"}
    assert all(judgment.response["why"] for judgment in found)
    sections = {section["id"] for section in computed(study).content["sections"]}
    assert any(name.startswith("agreement") for name in sections)


@pytest.mark.django_db
def test_the_api_lists_types_from_files_with_their_version(researcher: User) -> None:
    kind = hit_type_get("summary_quality")
    client = Client(headers={"Authorization": f"Token {api_token_make(user=researcher)}"})
    found = {one["name"]: one for one in client.get("/api/v1/hit-types/").json()}
    assert found[kind.name]["version"] == kind.version
    assert found["simulation"]["version"] == "1"
    assert [one["name"] for one in found[kind.name]["variables"]] == [
        "coherence", "consistency", "fluency", "relevance",
    ]  # fmt: skip
