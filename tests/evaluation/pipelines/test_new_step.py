"""A kind of step that is added as one file appears everywhere, runs, and fulfils the contract."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.models import User
from evaluation.models import Pipeline
from evaluation.pipelines.contract import PipelineStep
from evaluation.pipelines.recipe import RecipeError, recipe_check
from tests.contracts.step_checks import (
    done,
    options_check,
    plan_check,
    repeat_check,
    twice_check,
    words_check,
)
from tests.evaluation.pipelines.carried import questions
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user
from tests.new_step import RECIPE, ask_again  # noqa: F401

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("allowed", "ask_again"),
]


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    return client


@pytest.fixture
def pipeline(scripted: ScriptedProcess, tmp_path: Path) -> Pipeline:
    return done(RECIPE, scripted, tmp_path)


def test_the_new_kind_fulfils_the_contract(ask_again: PipelineStep, pipeline: Pipeline) -> None:  # noqa: F811
    words_check(ask_again)
    options_check(ask_again, [RECIPE])
    plan_check(ask_again, [RECIPE])
    twice_check(pipeline)
    repeat_check(pipeline)


def test_a_recipe_with_the_new_kind_is_checked() -> None:
    assert recipe_check(RECIPE)
    with pytest.raises(RecipeError, match="again: task: 'news' is not one of yes_no"):
        recipe_check(RECIPE | {"task": "news"})


def test_its_result_is_on_the_pipelines_page_and_in_the_api(boss: Client, pipeline: Pipeline) -> None:
    result = pipeline.results["again"]
    assert result["calls"] == 30
    page = boss.get(reverse("admin:evaluation_pipeline_change", args=[pipeline.pk])).content.decode()
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    assert f"30 calls, {result['kept']} answers kept" in text
    assert "ask_again" in text
    assert boss.get(f"/api/v1/pipelines/{pipeline.pk}/").json()["results"]["again"] == result


def test_it_is_in_the_plan_of_the_command_and_of_the_page(
    boss: Client, scripted: ScriptedProcess, tmp_path: Path
) -> None:
    make_endpoint(scripted)
    own = make_endpoint(scripted, name="own", by=User.objects.get(username="boss"))
    file = tmp_path / "recipe.json"
    file.write_text(json.dumps(RECIPE), encoding="utf-8")
    path, printed = questions(tmp_path), StringIO()
    call_command("pipeline", str(file), dataset=path, endpoint="scripted", dry_run=True, stdout=printed)
    assert "again: 30 calls" in printed.getvalue()
    with path.open("rb") as sent:
        fields: dict[str, Any] = {
            "recipe": "p2-news", "changed": json.dumps(RECIPE), "file": sent, "endpoint": own.pk,
            "overrides": "{}", "allow_own_model": "on",
        }  # fmt: skip
        page = boss.post(reverse("admin:evaluation_pipeline_preview"), fields).content.decode()
    assert "Fix these problems" not in page
    assert "<small>ask_again</small></th><td>30</td>" in page


def test_a_run_of_its_own_can_be_started_from_the_form(boss: Client) -> None:
    page = boss.get(reverse("admin:evaluation_run_add"), {"kind": "ask_again"}).content.decode()
    assert '<option value="ask_again" selected>Answers asked again</option>' in page
    assert 'name="material"' in page
    assert 'name="study"' not in page
