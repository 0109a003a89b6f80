"""The form of a new pipeline: validating it writes nothing."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.models import Dataset, User
from annotator.services.workspace import workspace_personal
from evaluation.forms.pipelines import NewPipelineForm
from evaluation.models import Endpoint, Pipeline, Recipe
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def make_form(user: User, endpoint: Endpoint, content: bytes, **more: str) -> NewPipelineForm:
    own = type("OwnForm", (NewPipelineForm,), {"user": user})
    fields = {"recipe": "p2-medical", "endpoint": str(endpoint.pk), "overrides": "{}", "budget": "3"}
    return own(fields | {"allow_own_model": "on"} | more, {"file": SimpleUploadedFile("q.jsonl", content)})  # type: ignore[no-any-return]


def test_validating_writes_nothing_and_saving_creates_the_pipeline_once() -> None:
    user = make_user(staff=True)
    endpoint = Endpoint.objects.create(
        workspace=workspace_personal(user=user), name="e", base_url="http://127.0.0.1:9/v1", model="m"
    )
    form = make_form(user, endpoint, b'{"key": "a", "query": "My knee hurts."}')
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert form.is_valid(), form.errors
    assert not [q["sql"] for q in queries if not q["sql"].startswith("SELECT")]
    assert [model.objects.count() for model in (Pipeline, Recipe, Dataset)] == [0, 0, 0]
    pipeline = form.save(commit=False)
    assert form.save().pk == pipeline.pk
    assert Pipeline.objects.get().dataset.instances.count() == 1
    assert pipeline.overrides == {"*": {"budget": "3", "allow_own_model": True}}


def test_a_file_with_faults_is_reported_on_its_field() -> None:
    user = make_user(staff=True)
    endpoint = Endpoint.objects.create(
        workspace=workspace_personal(user=user), name="e", base_url="http://127.0.0.1:9/v1", model="m"
    )
    form = make_form(user, endpoint, b'{"query": ""}')
    assert not form.is_valid()
    assert "q.jsonl:1: input: is missing" in form.errors["file"][0]


def test_a_studied_model_is_a_simulator_only_where_that_is_allowed() -> None:
    user = make_user(staff=True)
    workspace = workspace_personal(user=user)
    endpoint, _ = (
        Endpoint.objects.create(workspace=workspace, name=name, base_url="http://127.0.0.1:9/v1", model=model)
        for name, model in (("e", "m"), ("judge", "other"))
    )
    rows = b'{"key": "a", "query": "My knee hurts."}'

    def errors(**more: str) -> list[str]:
        form = make_form(user, endpoint, rows, **({"allow_own_model": ""} | more))
        return list(form.errors.get("simulators", [])) if not form.is_valid() else []

    # The recipe's simulators are the models that it studies.
    assert errors() == [
        "'m' would judge explanations of its own. Name other simulators, or allow the studied models as simulators."
    ]
    assert errors(simulators="judge") == []
    assert "'m'" in errors(simulators="judge\ne")[0]
    assert "'other'" in errors(simulators="judge", second="other")[0]
    assert "'other'" in errors(simulators="judge", second_endpoint=str(_.pk))[0]
    assert errors(overrides='{"simulators": {"model": "third"}}') == []
    assert errors(allow_own_model="on") == []
