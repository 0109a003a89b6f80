"""What a run's page says while it runs, why it has stopped and what to do, and that what can't be undone asks first."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.models import Judgment, User
from evaluation.models import Call, Endpoint, Pipeline, Run
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.recipe import recipe_file
from evaluation.runs.lifecycle import run_start
from evaluation.simulators.start import simulation_create
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_item, make_study, make_user

pytestmark = SCRIPTED_MARKS


@pytest.fixture
def ada() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def boss(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def text_of(client: Client, run: Run) -> str:
    """The page's progress as a person reads it."""
    html = client.get(reverse("admin:evaluation_run_progress", args=[run.pk])).content.decode()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_failed_calls_are_named_in_words_and_can_be_read(
    ada: User, boss: Client, scripted: ScriptedProcess
) -> None:
    run = make_run(
        make_endpoint(scripted, by=ada),
        make_material(2, by=ada),
        model="scripted?faults=1&kinds=nonsense",
        max_unparsable=1,
    )
    work(run)
    assert run.reason == "2 calls failed: no answer in the reply (2)."
    text = text_of(boss, run)
    assert "no answer in the reply (2); read them" in text
    assert "no_answer" not in text
    failed = boss.get(reverse("admin:evaluation_run_transcript", args=[run.pk]) + "?outcome=unparsable")
    assert failed.content.decode().count('class="fh__call"') == 2


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "Correct the endpoint's key, then resume the run."), (404, "start a new run with another model")],
)
def test_a_paused_run_says_what_to_do(
    status: int, advice: str, ada: User, boss: Client, scripted: ScriptedProcess
) -> None:
    run = make_run(
        make_endpoint(scripted, by=ada), make_material(2, by=ada), model=f"scripted?status={status}"
    )
    work(run)
    assert advice in text_of(boss, run)


def test_a_run_that_has_used_up_its_budget_says_what_to_do(
    ada: User, boss: Client, scripted: ScriptedProcess
) -> None:
    run = make_run(make_endpoint(scripted, by=ada), make_material(6, by=ada), budget_cost="0.001000")
    work(run)
    assert run.reason == (
        "What is left of the budget of 0.001 may not cover the next call. Raise it and resume the run, or cancel the run."
    )


def test_a_run_whose_endpoint_fails_says_so_while_it_waits(
    ada: User, boss: Client, scripted: ScriptedProcess
) -> None:
    run = make_run(make_endpoint(scripted, by=ada), make_material(2, by=ada))
    assert "has succeeded since" not in text_of(boss, run)
    Endpoint.objects.update(
        failing_since=timezone.now() - timedelta(minutes=2), trouble="HTTP 500: out of memory."
    )
    text = text_of(boss, run)
    assert "No request to scripted has succeeded since" in text
    assert "Last error: “HTTP 500: out of memory.”" in text
    assert "no call is abandoned in the meantime" in text


def test_a_run_counts_the_stages_that_are_to_come(ada: User, boss: Client, scripted: ScriptedProcess) -> None:
    study = make_study(by=ada, hit_type="utility")
    for number in range(3):
        payload = {
            "question": f"Can owl {number} swim?",
            "options": ["yes", "no"],
            "rationale": "It has wings.",
        }
        make_item(study, key=f"i{number}", payload=payload)
    run = run_start(run=simulation_create(study=study, endpoint=make_endpoint(scripted, by=ada)))
    assert "Running: 0 of 3 calls, and up to 3 more in later stages" in text_of(boss, run)
    Call.objects.filter(pk=run.calls.earliest("pk").pk).update(state="failed")
    assert "1 of 3 calls, and up to 2 more in later stages" in text_of(boss, run)
    Call.objects.filter(run=run).update(state="pending")
    work(run)
    assert run.state == "done"
    assert "Done: 6 of 6 calls Done" in text_of(boss, run)
    assert Judgment.objects.filter(study=study).count() == 3


def test_costs_that_are_not_counted_are_not_called_zero(
    ada: User, boss: Client, scripted: ScriptedProcess
) -> None:
    endpoint = make_endpoint(scripted, by=ada, price_in=0, price_out=0)
    run = make_run(endpoint, make_material(2, by=ada), started=False)
    text = text_of(boss, run)
    assert "The cost can't be estimated, and a budget in money has no effect" in text
    assert "not counted, because the endpoint has no prices" in text


def test_cancelling_a_run_asks_first(ada: User, boss: Client, scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted, by=ada), make_material(2, by=ada))
    url = reverse("admin:evaluation_run_do", args=[run.pk, "cancel"])
    assert (
        f'href="{url}"' in boss.get(reverse("admin:evaluation_run_progress", args=[run.pk])).content.decode()
    )
    asked = boss.get(url).content.decode()
    assert "The run can&#x27;t be resumed" in asked
    run.refresh_from_db()
    assert run.state == "running", "opening the page cancels nothing"
    boss.post(url)
    run.refresh_from_db()
    assert run.state == "cancelled"
    assert "This isn't possible any more" in boss.get(url).content.decode()
    assert boss.get(reverse("admin:evaluation_run_do", args=[run.pk, "pause"])).status_code == 405


def test_cancelling_a_pipeline_asks_first(ada: User, boss: Client, scripted: ScriptedProcess) -> None:
    study = make_material(1, by=ada)
    make_item(study, key="x", instance="x", system="robot")
    item = study.items.get(key="x")
    assert item.explanation is not None
    pipeline = pipeline_create(
        recipe=recipe_save(content=recipe_file("p1-yes-no"), workspace=study.workspace),
        dataset=item.explanation.instance.dataset,
        endpoint=make_endpoint(scripted, by=ada),
        created_by=ada,
    )
    url = reverse("admin:evaluation_pipeline_do", args=[pipeline.pk, "cancel"])
    assert "The pipeline can&#x27;t be resumed" in boss.get(url).content.decode()
    assert Pipeline.objects.get().state == "running"
    boss.post(url)
    assert Pipeline.objects.get().state == "cancelled"


def test_runs_of_one_study_are_told_apart(ada: User, boss: Client, scripted: ScriptedProcess) -> None:
    study, endpoint = make_material(1, by=ada), make_endpoint(scripted, by=ada)
    first, second = make_run(endpoint, study), make_run(endpoint, study, model="scripted?seed=2")
    html = boss.get(reverse("admin:study_simulators", args=[study.pk])).content.decode()
    assert f"Run {first.pk}: simulate with scripted at scripted" in html
    assert f"Run {second.pk}: simulate with scripted?seed=2 at scripted" in html


def test_the_form_of_an_endpoint_begins_with_what_each_needs(
    ada: User, boss: Client, scripted: ScriptedProcess
) -> None:
    add = reverse("admin:evaluation_endpoint_add")
    html = boss.get(add).content.decode()
    places = [
        html.index(f'name="{name}"')
        for name in ("base_url", "model", "key", "price_in", "concurrency", "headers")
    ]
    assert places == sorted(places)
    assert "Leave empty to keep the stored key" not in html


@pytest.mark.parametrize(
    ("name", "filled_by"),
    [
        ("evaluation_pipeline", "A pipeline carries out a recipe"),
        ("evaluation_run", "A run asks a model"),
    ],
)
def test_an_empty_list_says_what_fills_it(name: str, filled_by: str, boss: Client) -> None:
    url = reverse(f"admin:{name}_changelist")
    html = boss.get(url).content.decode()
    assert filled_by in html
    assert "yielded" not in html
    if name == "evaluation_run":
        found = boss.get(f"{url}?q=nothing-like-it").content.decode()
        assert "No run matches the search and the filters." in found
        assert filled_by not in found
