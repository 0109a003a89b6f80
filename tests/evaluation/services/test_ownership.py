"""Two labs on one server with the same names of endpoints, datasets, systems and recipes: neither affects the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.http import Http404
from django.test import Client
from django.urls import reverse

from annotator.models import Dataset, Explanation, FollowUp, Instance, Output, Study, System, User, Workspace
from annotator.services.workspace import workspace_personal
from evaluation.forms.pipelines import NewPipelineForm
from evaluation.forms.runs import EndpointForm, NewRunForm
from evaluation.models import Endpoint, Pipeline, Recipe, Run
from evaluation.pipelines.advance import pipeline_advance
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.recipe import recipe_file
from evaluation.ratings.items import items_load
from evaluation.reports.encoders import encoder_of
from evaluation.runs.create import RunPlan
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_start
from evaluation.selectors.endpoint import endpoint_get_for
from evaluation.selectors.pipeline import pipelines_for, recipes_for
from evaluation.selectors.run import datasets_for, runs_for
from evaluation.services.dataset import dataset_load
from evaluation.simulators.start import simulation_create
from tests.evaluation.run_factories import make_material, material_run_create
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_item, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)
QUESTIONS = [{"key": "a", "input": "Can owls swim?", "gold_label": "no"}]


@pytest.fixture
def ada() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def bob() -> User:
    return make_user("bob", staff=True)


def lab(user: User) -> Workspace:
    return workspace_personal(user=user)


def endpoint_of(user: User, **fields: object) -> Endpoint:
    values = {"name": "gpt", "base_url": "http://127.0.0.1:9/v1", "model": "m"} | fields
    return Endpoint.objects.create(workspace=lab(user), **values)


def dataset_of(user: User, folder: Path, name: str = "questions") -> Dataset:
    path = folder / "questions.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in QUESTIONS))
    return dataset_load(name=name, path=path, task="yes_no", workspace=lab(user))[0]


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def own_form(form: type, user: User) -> type:
    return type("Own", (form,), {"user": user})


# -- endpoints -------------------------------------------------------------------------------------------


def test_an_endpoint_can_be_used_and_changed_in_its_own_workspace_only(ada: User, bob: User) -> None:
    theirs, mine = endpoint_of(ada, base_url="http://127.0.0.1:7/secret/v1"), endpoint_of(bob)
    client = logged_in(bob)
    shown = client.get(reverse("admin:evaluation_endpoint_changelist")).content.decode()
    assert "127.0.0.1:9" in shown
    assert "secret" not in shown
    address = reverse("admin:evaluation_endpoint_change", args=[theirs.pk])
    assert client.get(address).status_code in (302, 404)
    assert client.post(address, {"name": "stolen"}).status_code in (302, 404)
    assert client.post(reverse("admin:evaluation_endpoint_try", args=[theirs.pk])).status_code == 404
    assert client.get(reverse("admin:evaluation_endpoint_change", args=[mine.pk])).status_code == 200
    theirs.refresh_from_db()
    assert theirs.name == "gpt"
    with pytest.raises(Http404):
        endpoint_get_for(user=bob, pk=theirs.pk)


def test_a_run_cannot_use_another_workspaces_endpoint(ada: User, bob: User) -> None:
    theirs, mine = endpoint_of(ada), endpoint_of(bob)
    study = make_material(1, by=bob)
    with pytest.raises(ValidationError, match="belongs to another workspace"):
        simulation_create(study=study, endpoint=theirs)
    offered = own_form(NewRunForm, bob)().fields["endpoint"].queryset
    assert list(offered) == [mine]
    assert simulation_create(study=study, endpoint=mine)


def test_a_member_of_two_workspaces_does_not_mix_them(ada: User, bob: User) -> None:
    theirs = endpoint_of(ada)
    lab(ada).members.create(user=bob, role="editor")
    assert theirs in own_form(NewRunForm, bob)().fields["endpoint"].queryset
    with pytest.raises(ValidationError, match="belongs to another workspace"):
        simulation_create(study=make_material(1, by=bob), endpoint=theirs)


def test_an_endpoint_is_shared_on_purpose_and_changed_only_by_its_owners(ada: User, bob: User) -> None:
    theirs = endpoint_of(ada)
    theirs.shared_with.add(lab(bob))
    assert simulation_create(study=make_material(1, by=bob), endpoint=theirs)
    address = reverse("admin:evaluation_endpoint_change", args=[theirs.pk])
    assert logged_in(bob).get(address).status_code in (302, 404)


def test_the_api_finds_endpoints_in_the_studys_workspace(ada: User, bob: User) -> None:
    endpoint_of(ada, name="theirs")
    endpoint_of(ada)
    mine = endpoint_of(bob)
    study = make_material(1, by=bob)
    address, client = f"/api/v1/studies/{study.slug}/runs/", logged_in(bob)
    refused = client.post(address, {"endpoint": "theirs"}, content_type="application/json")
    assert refused.status_code == 400
    made = client.post(address, {"endpoint": "gpt"}, content_type="application/json")
    assert made.status_code == 201, made.content
    assert Run.objects.get().endpoint == mine


def test_a_report_uses_embeddings_from_its_own_workspaces_endpoint(ada: User, bob: User) -> None:
    endpoint_of(ada, name="theirs")
    endpoint_of(bob)
    study = make_study(by=bob)
    with pytest.raises(ValueError, match="no endpoint named 'theirs'"):
        encoder_of("endpoint:theirs", study)
    assert encoder_of("endpoint:gpt", study)


def test_the_operators_key_variables_are_for_superusers_only(ada: User) -> None:
    assert "key_variable" not in own_form(EndpointForm, ada)().fields
    boss = make_user("boss", staff=True, is_superuser=True)
    assert "key_variable" in own_form(EndpointForm, boss)().fields


def test_a_viewer_of_a_workspace_sees_its_endpoint_but_does_not_change_it(ada: User, bob: User) -> None:
    endpoint = endpoint_of(ada)
    lab(ada).members.create(user=bob, role="viewer")
    client = logged_in(bob)
    address = reverse("admin:evaluation_endpoint_change", args=[endpoint.pk])
    assert client.get(address).status_code == 200
    assert client.post(address, {"name": "stolen"}).status_code == 403
    assert client.post(reverse("admin:evaluation_endpoint_try", args=[endpoint.pk])).status_code == 404


def test_cached_replies_are_not_shared_between_labs(
    ada: User, bob: User, scripted: ScriptedProcess, scripted_allowed: None
) -> None:
    for user in (ada, bob, ada):
        endpoint = Endpoint.objects.filter(workspace=lab(user)).first() or endpoint_of(
            user, base_url=scripted.base_url, model="scripted"
        )
        run = run_start(run=simulation_create(study=make_material(2, by=user), endpoint=endpoint))
        run_inline(run=run)
    cached = [run.calls.filter(from_cache=True).count() for run in Run.objects.order_by("pk")]
    assert cached == [0, 0, 2]


# -- datasets, systems, recipes, pipelines and runs without a study -----------------------------------------


def test_datasets_with_the_same_name_in_two_workspaces_are_separate(
    ada: User, bob: User, tmp_path: Path
) -> None:
    theirs, mine = dataset_of(ada, tmp_path), dataset_of(bob, tmp_path)
    assert theirs.pk != mine.pk
    assert list(datasets_for(user=bob)) == [mine]
    assert theirs not in own_form(NewRunForm, bob)(initial={"kind": "explain"}).fields["material"].queryset
    assert theirs not in own_form(NewPipelineForm, bob)().fields["material"].queryset


def test_a_study_with_a_datasets_name_gives_no_access_to_it(ada: User, bob: User, tmp_path: Path) -> None:
    theirs = dataset_of(ada, tmp_path, name="wanted")
    make_study(by=bob, slug="wanted")
    assert theirs not in datasets_for(user=bob)


def test_recipes_have_separate_versions_in_each_workspace(ada: User, bob: User) -> None:
    content = recipe_file("p1-yes-no")
    theirs = recipe_save(content=content, workspace=lab(ada), created_by=ada)
    mine = recipe_save(content=content | {"title": "Ours"}, workspace=lab(bob), created_by=bob)
    assert (theirs.version, mine.version) == (1, 1)
    assert list(recipes_for(user=bob)) == [mine]
    page = logged_in(bob).get(reverse("admin:evaluation_recipe_change", args=[theirs.pk]))
    assert page.status_code in (302, 404)
    assert f"saved:{theirs.pk}" not in str(own_form(NewPipelineForm, bob)().fields["recipe"].choices)


def begin(user: User, folder: Path) -> Pipeline:
    return pipeline_create(
        recipe=recipe_save(content=recipe_file("p1-yes-no"), workspace=lab(user), created_by=user),
        dataset=dataset_of(user, folder),
        endpoint=Endpoint.objects.filter(workspace=lab(user)).first() or endpoint_of(user),
        created_by=user,
    )


def test_a_pipeline_belongs_to_its_datasets_workspace(ada: User, bob: User, tmp_path: Path) -> None:
    theirs = begin(ada, tmp_path)
    pipeline_advance(pipeline_pk=theirs.pk)
    run = theirs.runs.get()
    assert not pipelines_for(user=bob).exists()
    assert not runs_for(user=bob).exists()
    client = logged_in(bob)
    for address in (
        reverse("admin:evaluation_pipeline_progress", args=[theirs.pk]),
        reverse("admin:evaluation_run_progress", args=[run.pk]),
        f"/api/v1/runs/{run.pk}/",
    ):
        assert client.get(address).status_code == 404, address
    lab(ada).members.create(user=bob, role="viewer")
    assert client.get(reverse("admin:evaluation_pipeline_progress", args=[theirs.pk])).status_code == 200
    assert client.get(f"/api/v1/runs/{run.pk}/").status_code == 200
    again = client.post(reverse("admin:evaluation_pipeline_do", args=[theirs.pk, "cancel"]))
    assert again.status_code == 404, "a viewer controls nothing"
    assert client.post(f"/api/v1/runs/{run.pk}/cancel/").status_code == 404


def test_leaving_a_workspace_ends_access_to_what_was_made_there(ada: User, bob: User, tmp_path: Path) -> None:
    pipeline = begin(ada, tmp_path)
    pipeline_advance(pipeline_pk=pipeline.pk)
    Pipeline.objects.update(created_by=bob)
    Run.objects.update(created_by=bob)
    Recipe.objects.update(created_by=bob)
    assert not pipelines_for(user=bob).exists()
    assert not runs_for(user=bob).exists()
    assert not recipes_for(user=bob).exists()


def test_a_pipeline_adds_no_material_to_another_labs_study(ada: User, bob: User, tmp_path: Path) -> None:
    pipeline = begin(ada, tmp_path)
    steps = pipeline.recipe.content["steps"]
    number, step = next((n, one) for n, one in enumerate(steps) if one["kind"] == "study")
    trap = make_study(
        by=bob, hit_type=step["options"]["hit_type"], slug=f"p1-yes-no-{pipeline.pk}-{step['name']}"[:80]
    )
    instance = pipeline.dataset.instances.get()
    system = System.objects.create(workspace=lab(ada), name="m · chain of thought")
    explanation = Explanation.objects.create(
        instance=instance, system=system, text="Owls are birds.", output="no", digest="x"
    )
    asked = FollowUp.objects.create(
        instance=instance, explanation=explanation, text="Can ducks swim?", digest="y"
    )
    Output.objects.create(follow_up=asked, system=system, text="yes")
    Pipeline.objects.filter(pk=pipeline.pk).update(step=number)
    pipeline_advance(pipeline_pk=pipeline.pk)
    assert not trap.items.exists()
    made_study = Study.objects.get(workspace=lab(ada), hit_type=step["options"]["hit_type"])
    assert made_study.items.exists()


def test_systems_with_the_same_name_in_two_workspaces_are_separate(
    ada: User, bob: User, tmp_path: Path
) -> None:
    for user, model in ((ada, "theirs"), (bob, "mine")):
        System.objects.create(workspace=lab(user), name="robot", model=model, method="cot")
    study = make_study(by=bob)
    make_item(study, system="robot")
    assert items_load(study=study).systems == {"robot": ("mine", "cot")}
    System.objects.create(workspace=lab(ada), name="only theirs")
    dataset = dataset_of(bob, tmp_path)
    instance = Instance.objects.get(dataset=dataset)
    assert instance.dataset.workspace == lab(bob)
    with pytest.raises(ValidationError, match="nothing to ask"):
        material_run_create(
            kind="outputs",
            dataset=dataset,
            endpoint=endpoint_of(bob),
            plan=RunPlan(),
            options={"system": "only theirs"},
        )
