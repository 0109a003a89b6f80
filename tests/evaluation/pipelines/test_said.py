"""What pages and commands say: all runs of a step, a study that is judged already, an address that is refused."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotator.core.outgoing.hosts import HostPolicy, HostRefused, check_origin, origin_of
from annotator.models import Dataset
from evaluation.models import Pipeline, Recipe
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


def test_the_page_of_a_pipeline_links_all_runs_of_a_step(client: Client, scripted: ScriptedProcess) -> None:
    endpoint, study = make_endpoint(scripted), make_material(2)
    steps = [{"name": "simulators", "kind": "simulate"}]
    recipe = Recipe.objects.create(
        name="r", version=1, digest="d", content={"task": "yes_no", "steps": steps}
    )
    pipeline = Pipeline.objects.create(
        recipe=recipe, dataset=Dataset.objects.create(name="d"), endpoint=endpoint, study=study
    )
    runs = [
        make_run(endpoint, study, model=f"scripted?seed={n}", pipeline=pipeline, started=False)
        for n in range(3)
    ]
    for run in runs:
        run.options |= {"step": "simulators"}
        run.save(update_fields=["options"])
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    page = client.get(reverse("admin:evaluation_pipeline_change", args=[pipeline.pk])).content.decode()
    for run in runs:
        assert reverse("admin:evaluation_run_change", args=[run.pk]) in page
        assert f"({run.model})" in page


def test_simulate_on_a_judged_study_says_so(scripted: ScriptedProcess) -> None:
    study = make_material(3, slug="owls")
    work(make_run(make_endpoint(scripted), study))
    with pytest.raises(CommandError, match="This simulator has already judged all 3 items of the study"):
        call_command("simulate", "owls", "--endpoint", "scripted", stdout=StringIO())
    make_material(0, slug="empty")
    with pytest.raises(CommandError, match="Import the study's material first"):
        call_command("simulate", "empty", "--endpoint", "scripted", stdout=StringIO())


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://models.lab.example/v1", "needs https, because http sends everything unencrypted"),
        ("http://127.0.0.1:9999/v1", "is allowed on port 8081 only, and this address has port 9999"),
        ("https://10.0.0.1/v1", "is not a public address"),
    ],
)
def test_a_refused_address_is_refused_with_its_reason(url: str, said: str) -> None:
    with pytest.raises(HostRefused, match=said) as refused:
        check_origin(origin_of(url), HostPolicy.from_entries(["127.0.0.1:8081"]))
    assert "LLM_ALLOWED_HOSTS" in str(refused.value)
