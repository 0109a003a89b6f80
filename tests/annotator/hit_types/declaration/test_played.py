"""A type from a file, from a row of a file to a report: by people over HTTP, with everything that a type in Python has."""

from __future__ import annotations

import io
import json
from random import Random

import pytest
from django.test import Client

from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.shown import Presented
from annotator.hit_types.registry import hit_type_get
from annotator.models import Assignment, Judgment, User
from annotator.services.api_tokens import api_token_make
from annotator.services.imports.material_import import material_import
from annotator.services.rehearsal.answers import rehearsal_answer
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
@pytest.mark.parametrize("name", ["error_spans", "rubric_grading"])
def test_people_mark_passages_and_fill_in_a_rubric_without_a_script(name: str, researcher: User) -> None:
    """The bot posts the form as a browser without scripts does; the report is on the labels, the values keep their form."""
    kind = hit_type_get(name)
    assert isinstance(kind, DeclaredHitType)
    study = study_create(
        by=researcher, hit_type=name, slug="marks", title="Marks", completion_code="DONE", redundancy=2,
        exam_required=False, practice_required=False,
    )  # fmt: skip
    rows = [json.dumps(case["item"]) for case in kind.declaration["material"][:2]]
    material_import(study=study, file=io.BytesIO("\n".join(rows).encode()), name="marks.jsonl")
    study_launch(study=study, by=researcher)
    study.refresh_from_db()
    for _ in range(2):
        assert "DONE" in Bot(study).whole_way(most=2).content.decode()
    found = list(Judgment.objects.filter(study=study).select_related("item"))
    assert len(found) == 4
    report = computed(study)
    sections = {section["id"] for section in report.content["sections"]}
    assert any(section.startswith("agreement") for section in sections)
    for judgment in found:
        values = {
            one.variable: one.value for one in kind.to_ratings(judgment.item.payload, judgment.response)
        }
        if name == "rubric_grading":
            assert 0 <= float(values["rubric_score"]) <= 1
            continue
        text = judgment.item.payload["translation"]
        for passage in json.loads(values["errors"]):
            assert f'"{text[passage["start"] : passage["end"]]}"' in judgment.response["errors"]


@pytest.mark.django_db
def test_a_turn_makes_what_is_shown_once(researcher: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """To check an answer takes the names of stages and the stage's questions, but not its texts: those of the next task are made."""
    study = study_create(
        by=researcher, hit_type="pairwise_preference", slug="pairs", title="Pairs", exam_required=False,
        practice_required=False, consent_text="",
    )  # fmt: skip
    kind = hit_type_get("pairwise_preference")
    assert isinstance(kind, DeclaredHitType)
    rows = [json.dumps(case["item"]) for case in kind.declaration["material"][:2]]
    material_import(study=study, file=io.BytesIO("\n".join(rows).encode()), name="pairs.jsonl")
    study_launch(study=study, by=researcher)
    bot = Bot(study)
    form = bot.form(bot.instructions(bot.join()), action=r"^/task/\d+/$")
    task = Assignment.objects.select_related("item").get()
    stage = kind.stages(task.item.payload, task.presentation)[0]
    data = {name: value for name, value in form.fields.items() if value is not None}
    data |= rehearsal_answer(stage, gold=None, item_key="a", accuracy=0.5, rng=Random(1))
    made: list[int] = []
    blocks = Presented.blocks
    monkeypatch.setattr(Presented, "blocks", lambda own, stage: (made.append(stage), blocks(own, stage))[1])
    assert bot.post(form.action, data, swap=True).status_code == 200
    assert Judgment.objects.count() == 1
    assert made == [0]


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
