"""Endpoints, runs, pipelines and recipes: as anonymous, annotator, another lab, and in each role of the workspace."""

from __future__ import annotations

import pytest
from django.test import Client

from annotator.models import Dataset, Instance, Study, User, WorkspaceMember
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint, FineTuning, Pipeline, Recipe, Run
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.recipe import recipe_file
from evaluation.simulators.start import simulation_create
from tests.evaluation.pages import PAGES, SENT
from tests.evaluation.run_factories import make_material, material_run_create
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)
ROLES = ["viewer", "reviewer", "editor", "owner"]
#: Lists, which everybody has; they show only what is one's own.
LISTS = ["endpoint", "recipe", "pipeline", "run", "call", "report"]


def lab(user: User, slug: str) -> dict[str, int]:
    """Everything that a workspace owns here, under the same names in every lab."""
    workspace = workspace_personal(user=user)
    study = make_material(1, by=user, slug=slug)
    endpoint = Endpoint.objects.create(
        workspace=workspace, name="gpt", base_url="http://127.0.0.1:9/v1", model=f"model of {slug}"
    )
    dataset = Dataset.objects.create(workspace=workspace, name="questions")
    Instance.objects.create(dataset=dataset, key="a", input="Can owls swim?", gold_label="no")
    recipe = recipe_save(content=recipe_file("p1-yes-no"), workspace=workspace, created_by=user)
    pipeline = pipeline_create(recipe=recipe, dataset=dataset, endpoint=endpoint, created_by=user)
    tuning = FineTuning.objects.create(
        pipeline=pipeline, endpoint=endpoint, step="tune", base_model="gpt", examples=1, file="{}\n"
    )
    run = material_run_create(
        kind="explain", dataset=dataset, endpoint=endpoint, options={"task": "yes_no", "method": "cot"}
    )
    of_study = simulation_create(study=study, endpoint=endpoint)
    return {
        "ENDPOINT": endpoint.pk, "RECIPE": recipe.pk, "PIPELINE": pipeline.pk, "TUNING": tuning.pk, "STUDY_RUN": of_study.pk,
        "RUN": run.pk, "CALL": run.calls.get().pk, "STUDY": study.pk,
    }  # fmt: skip


@pytest.fixture
def mine() -> dict[str, int]:
    return lab(make_user("ada", staff=True), "mine")


@pytest.fixture
def stranger() -> User:
    user = make_user("otto", staff=True)
    lab(user, "theirs")
    return user


def address(names: dict[str, int], page: str) -> str:
    return "/".join(str(names.get(part, part)) for part in page.split("/"))


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def state() -> list[object]:
    return [
        list(model.objects.order_by("pk").values())
        for model in (Endpoint, Recipe, Pipeline, FineTuning, Run, Study)
    ]


def test_anonymous_users_and_annotators_have_no_access(mine: dict[str, int]) -> None:
    before = state()
    for client in (Client(), logged_in(make_user("anna"))):
        for page in PAGES:
            assert client.get(address(mine, page)).status_code in (302, 401, 403, 404), page
        for page in SENT:
            assert client.post(address(mine, page)).status_code in (302, 401, 403, 404), page
    assert state() == before


def test_another_lab_with_the_same_names_finds_nothing(mine: dict[str, int], stranger: User) -> None:
    client, before = logged_in(stranger), state()
    for page in PAGES:
        assert client.get(address(mine, page)).status_code in (302, 404), page
    for page in SENT:
        assert client.post(address(mine, page)).status_code in (302, 403, 404), page
    assert state() == before
    for name in LISTS:
        shown = client.get(f"/admin/evaluation/{name}/")
        assert shown.status_code == 200
        assert "model of mine" not in shown.content.decode(), name
        assert f"/{name}/{mine.get(name.upper(), 'none')}/" not in shown.content.decode(), name


@pytest.mark.parametrize("role", ROLES)
def test_each_role_has_exactly_its_permissions(mine: dict[str, int], stranger: User, role: str) -> None:
    user = make_user(f"u-{role}", staff=True)
    workspace = Study.objects.get(slug="mine").workspace
    assert workspace is not None
    WorkspaceMember.objects.create(workspace=workspace, user=user, role=role)
    client = logged_in(user)
    for page in PAGES:
        assert client.get(address(mine, page)).status_code == 200, page
    for page, needed in SENT.items():
        code = client.post(address(mine, page)).status_code
        allowed = ROLES.index(role) >= ROLES.index(needed)
        assert (code not in (403, 404)) == allowed, (page, code)
