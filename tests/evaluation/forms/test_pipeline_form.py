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


def make_form(user: User, endpoint: Endpoint, content: bytes) -> NewPipelineForm:
    own = type("OwnForm", (NewPipelineForm,), {"user": user})
    fields = {"recipe": "p2-medical", "endpoint": str(endpoint.pk), "overrides": "{}", "budget": "3"}
    return own(fields, {"file": SimpleUploadedFile("q.jsonl", content)})  # type: ignore[no-any-return]


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
    assert pipeline.overrides == {"*": {"budget": "3"}}


def test_a_file_with_faults_is_reported_on_its_field() -> None:
    user = make_user(staff=True)
    endpoint = Endpoint.objects.create(
        workspace=workspace_personal(user=user), name="e", base_url="http://127.0.0.1:9/v1", model="m"
    )
    form = make_form(user, endpoint, b'{"query": ""}')
    assert not form.is_valid()
    assert "q.jsonl:1: input: is missing" in form.errors["file"][0]
