"""A service refuses what validation accepted, because something has changed in between: the form shows the error."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotator.models import Dataset, Item
from evaluation.forms import pipelines as pipeline_forms
from evaluation.forms import prompts as prompt_forms
from evaluation.forms import runs as run_forms
from evaluation.models import Endpoint, Pipeline, Run
from evaluation.pipelines.recipe import RecipeError
from evaluation.pipelines.steps import simulate as simulate_step
from tests.evaluation.admin.run_forms import boss_user, endpoint_fields, pipeline_fields
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

PROMPT = "## user\nSay $question $follow_up\nANSWER:"
pytestmark = SCRIPTED_MARKS


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    return client


def first(monkeypatch: pytest.MonkeyPatch, module: Any, service: str, change: Any) -> None:
    """Make ``change`` just before the form calls its service."""
    real = getattr(module, service)

    def late(**given: Any) -> Any:
        change()
        return real(**given)

    monkeypatch.setattr(module, service, late)


def test_a_run_with_nothing_left_to_ask(
    boss: Client, scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint, study = make_endpoint(scripted, by=boss_user()), make_material(3, by=boss_user())
    first(monkeypatch, simulate_step, "simulation_create", lambda: Item.objects.all().delete())
    fields = {
        "kind": "simulate", "study": study.pk, "endpoint": endpoint.pk, "parameters": "{}", "samples": 1, "together": 1,
        "mode": "live", "workers": 1, "max_attempts": 6, "max_unparsable": 3, "prompt": PROMPT,
    }  # fmt: skip
    reply = boss.post(reverse("admin:evaluation_run_add"), fields)
    assert reply.status_code == 200
    assert "there is nothing to ask about" in reply.context["adminform"].form.errors.as_text()
    assert PROMPT in reply.content.decode(), "what was entered is still there"
    assert not Run.objects.exists()


def test_a_trial_of_a_prompt_with_nothing_to_try_it_on(
    boss: Client, scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint, study = make_endpoint(scripted, by=boss_user()), make_material(3, by=boss_user())
    first(monkeypatch, prompt_forms, "simulation_create", lambda: Item.objects.all().delete())
    fields = {"prompt": PROMPT, "endpoint": endpoint.pk, "items": 2, "do": "try"}
    reply = boss.post(reverse("admin:evaluation_run_prompt", args=[study.pk]), fields)
    assert reply.status_code == 200
    assert "there is nothing to ask about" in reply.context["form"].errors.as_text()
    assert PROMPT in reply.content.decode()
    assert not Run.objects.exists()


def test_an_endpoint_whose_name_was_taken(
    boss: Client, scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = endpoint_fields(scripted, name="gpt", model="entered")
    first(
        monkeypatch, run_forms, "endpoint_save",
        lambda: Endpoint.objects.create(
            workspace_id=fields["workspace"], name="gpt", base_url=scripted.base_url, model="other"
        ),
    )  # fmt: skip
    reply = boss.post(reverse("admin:evaluation_endpoint_add"), fields)
    assert reply.status_code == 200
    assert "already exists" in reply.content.decode()
    assert 'value="entered"' in reply.content.decode()


def invalid_now() -> None:
    raise ValidationError({"dataset": "The dataset was deleted."})


def recipe_refused() -> None:
    raise RecipeError("This step was removed.")


@pytest.mark.parametrize(
    ("change", "message"),
    [(invalid_now, "The dataset was deleted."), (recipe_refused, "This step was removed.")],
)
def test_a_pipeline_that_its_service_refuses(
    boss: Client, scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch, change: Any, message: str
) -> None:
    first(monkeypatch, pipeline_forms, "pipeline_create", change)
    reply = boss.post(
        reverse("admin:evaluation_pipeline_add"), pipeline_fields(make_endpoint(scripted, by=boss_user()))
    )
    assert reply.status_code == 200
    assert message in reply.content.decode()
    assert not Pipeline.objects.exists()
    assert not Dataset.objects.exists(), "the uploaded file is stored with the pipeline or not at all"
