"""The pipeline that made a study's material."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from annotator.models import Dataset, Study, User
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint, Pipeline
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.recipe import recipe_file
from evaluation.selectors.pipeline import pipeline_behind
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def make_pipeline(by: User, **results: dict[str, Any]) -> Pipeline:
    """A pipeline in the researcher's own workspace whose finished steps have these results."""
    workspace = workspace_personal(user=by)
    endpoint, _ = Endpoint.objects.get_or_create(
        workspace=workspace, name="gpt", base_url="http://127.0.0.1:9/v1", model="gpt"
    )
    dataset, _ = Dataset.objects.get_or_create(workspace=workspace, name="questions")
    recipe = recipe_save(content=recipe_file("p1-yes-no"), workspace=workspace, created_by=by)
    pipeline = pipeline_create(recipe=recipe, dataset=dataset, endpoint=endpoint, created_by=by)
    pipeline.results = results
    pipeline.save()
    return pipeline


@pytest.fixture
def researcher() -> User:
    return make_user("rita", staff=True)


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(by=researcher, slug="owls")


def behind(study: Study) -> Pipeline | None:
    found = pipeline_behind(study=study)
    return found[0] if found else None


def test_a_pipeline_is_found_by_the_study_that_one_of_its_steps_made(researcher: User, study: Study) -> None:
    assert behind(study) is None
    make_pipeline(researcher, study={"study": "hens"}, owls={"calls": 3})
    assert behind(study) is None
    made = make_pipeline(
        researcher,
        explain={"calls": 4, "failed": 1, "duplicates": 1, "duplicates_of_others": 2},
        study={"study": "owls", "items": 3},
    )
    found = pipeline_behind(study=study)
    assert found is not None
    assert found[0] == made
    explain = next(step for step in found[1] if step.name == "explain")
    assert (explain.calls, explain.failed, explain.duplicates) == (4, 1, 3)
    assert behind(make_study(by=researcher, slug="hens")) is not None


def test_the_latest_of_several_pipelines_is_meant(researcher: User, study: Study) -> None:
    make_pipeline(researcher, study={"study": "owls"})
    latest = make_pipeline(researcher, study={"study": "owls"})
    assert behind(study) == latest


def test_another_workspaces_pipeline_did_not_make_the_study(study: Study) -> None:
    make_pipeline(make_user("otto", staff=True), study={"study": "owls"})
    assert behind(study) is None


@pytest.mark.parametrize("pipelines", [1, 12])
def test_one_query_finds_the_pipeline_among_any_number(
    researcher: User, study: Study, pipelines: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    made = make_pipeline(researcher, study={"study": "owls"})
    for number in range(pipelines):
        make_pipeline(researcher, study={"study": f"other-{number}"})
    with django_assert_num_queries(1):
        found = pipeline_behind(study=study)
    assert found is not None
    assert found[0] == made
