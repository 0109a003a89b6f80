"""A pipeline's endpoints and simulators, and its pauses, budget and retries."""

from __future__ import annotations

import re
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotator.core.errors import Conflict
from annotator.models import AuditAction, AuditEntry, Dataset, Instance, Judgment, User
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint, Pipeline, Run
from evaluation.pipelines.advance import pipeline_advance, pipeline_resume
from evaluation.pipelines.control import (
    BY_RESEARCHER,
    pipeline_budget_set,
    pipeline_pause,
    pipeline_retry_failed,
)
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.plan import pipeline_plan
from evaluation.runs.inline import run_inline
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS
RECIPE: dict[str, Any] = {
    "name": "small",
    "title": "Small",
    "task": "yes_no",
    "steps": [
        {"name": "explain", "kind": "explain", "options": {"method": "cot", "system": "{model} · cot"}},
        {
            "name": "explain-second",
            "kind": "explain",
            "options": {"method": "cot", "system": "{second} · cot", "model": "{second}"},
            "without_second": None,
        },
        {"name": "follow-ups", "kind": "counterfactuals", "options": {"way": "baseline", "n": 2}},
        {"name": "study", "kind": "study", "options": {"hit_type": "plausibility"}},
        {"name": "simulators", "kind": "simulate", "options": {"study": "study"}},
        {
            "name": "simulators-second",
            "kind": "simulate",
            "options": {"study": "study", "model": "{second}"},
            "without_second": None,
        },
    ],
}


def small(endpoint: Endpoint, *, by: User | None = None, **whole: Any) -> Pipeline:
    workspace = workspace_personal(user=by) if by else None
    dataset = Dataset.objects.create(name="questions", workspace=workspace)
    for n in range(3):
        Instance.objects.create(
            dataset=dataset, key=f"q{n}", input=f"Can owl number {n} swim?", gold_label="no"
        )
    recipe = recipe_save(content=RECIPE, workspace=workspace)
    return pipeline_create(
        recipe=recipe,
        dataset=dataset,
        endpoint=endpoint,
        overrides={"*": whole} if whole else {},
        created_by=by,
    )


def carry(pipeline: Pipeline) -> Pipeline:
    """Run a pipeline in this process until it is done or waits for a person."""
    for _ in range(50):
        state = pipeline_advance(pipeline_pk=pipeline.pk)
        if state != "waiting":
            break
        for run in pipeline.runs.filter(state=Run.State.RUNNING):
            run_inline(run=run)
    pipeline.refresh_from_db()
    return pipeline


def test_each_model_is_asked_at_its_own_endpoint_and_several_simulators_judge(
    scripted: ScriptedProcess,
) -> None:
    first = make_endpoint(scripted, name="first", model="scripted")
    make_endpoint(scripted, name="second", model="scripted?seed=2", deployment="two")
    make_endpoint(scripted, name="judge", model="scripted?seed=3", deployment="three")
    simulators = [
        {"endpoint": "judge"},
        {"endpoint": "judge", "model": "scripted?seed=4"},
        {"endpoint": "judge"},
    ]
    pipeline = carry(small(first, second_endpoint="second", simulators=simulators))
    assert pipeline.state == "done", pipeline.reason
    asked = {
        (run.options["step"], run.endpoint.name, run.model)
        for run in pipeline.runs.select_related("endpoint")
    }
    assert asked == {
        ("explain", "first", "scripted"),
        ("explain-second", "second", "scripted?seed=2"),
        ("follow-ups", "first", "scripted"),
        ("simulators", "judge", "scripted?seed=3"),
        ("simulators", "judge", "scripted?seed=4"),
    }
    assert pipeline.results["simulators-second"] == {"left_out": "the pipeline names its simulators"}
    result = pipeline.results["simulators"]
    assert len(result["runs"]) == 2
    assert "note" not in result
    assert result["done"] == Judgment.objects.count() == result["calls"] > 0
    assert Judgment.objects.values("rater").distinct().count() == 2


def test_a_simulator_that_is_the_model_under_study_is_flagged(scripted: ScriptedProcess) -> None:
    pipeline = carry(small(make_endpoint(scripted)))
    assert pipeline.results["simulators"]["note"] == "a simulator is the model that is studied"


def test_a_pipeline_stops_at_a_step_in_which_no_call_succeeded_and_sends_them_again_when_resumed(
    scripted: ScriptedProcess,
) -> None:
    endpoint = make_endpoint(scripted, model="scripted?refuse=owl&code=bad_request")
    pipeline = carry(small(endpoint))
    assert (pipeline.state, pipeline.step, pipeline.runs.count()) == ("paused", 0, 1)
    assert re.match(
        r"explain: run \d+ is paused: 3 of 3 calls failed, most of them: request rejected", pipeline.reason
    )
    assert "HTTP 400: This prompt is not accepted." in pipeline.reason
    Run.objects.update(model="scripted")
    pipeline = carry(pipeline_resume(pipeline=pipeline))
    assert pipeline.runs.order_by("pk")[0].calls.filter(state="done").count() == 3
    assert pipeline.step >= 1


def test_a_step_that_cost_nothing_says_so_in_plain_digits(scripted: ScriptedProcess) -> None:
    pipeline = small(make_endpoint(scripted, price_in=0, price_out=0))
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
    run_inline(run=pipeline.runs.get())
    pipeline = carry(pipeline)
    assert pipeline.results["explain"]["spent"] == "0.00000000"


def test_a_later_step_does_not_ask_the_same_model_at_another_address_unless_somebody_confirms_it(
    scripted: ScriptedProcess, settings: Any, client: Client
) -> None:
    endpoint = make_endpoint(scripted)
    pipeline = small(endpoint)
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
    run_inline(run=pipeline.runs.get())
    host = scripted.host.replace("127.0.0.1", "localhost")
    settings.LLM_ALLOWED_HOSTS = [*settings.LLM_ALLOWED_HOSTS, host]
    Endpoint.objects.update(base_url=f"http://{host}/v1")
    pipeline = carry(pipeline)
    assert (pipeline.state, pipeline.runs.count()) == ("paused", 1)
    assert pipeline.reason.startswith(f"follow-ups: The answers so far come from {scripted.host}")
    assert f"the endpoint scripted is at {host} now" in pipeline.reason
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    page = reverse("admin:evaluation_pipeline_change", args=[pipeline.pk])
    assert "It&#x27;s the same deployment: resume" in client.get(page).content.decode()
    carry(pipeline_resume(pipeline=pipeline))
    assert pipeline.runs.count() == 1, "still elsewhere"
    api = f"/api/v1/pipelines/{pipeline.pk}/same-deployment/"
    refused = client.post(api, {"deployments": [scripted.host]}, content_type="application/json")
    assert refused.status_code == 409
    assert f"{scripted.host} was to be confirmed, but the endpoint scripted is at {host} now" in str(
        refused.json()
    )
    do = reverse("admin:evaluation_pipeline_do", args=[pipeline.pk, "same-deployment"])
    assert "Nothing was confirmed" in client.post(do, follow=True).content.decode()
    assert f'name="deployments" value="{host}"' in client.get(page).content.decode()
    confirmed = client.post(api, {"deployments": [host]}, content_type="application/json")
    assert (confirmed.status_code, confirmed.json()["state"]) == (200, "running")
    pipeline = carry(pipeline)
    assert pipeline.state == "done", pipeline.reason
    assert AuditEntry.objects.filter(action=AuditAction.DEPLOYMENT_CONFIRMED).count() == 1
    with pytest.raises(CommandError, match="is done"):
        call_command("pipeline_control", str(pipeline.pk), "same-deployment", stdout=StringIO())


def test_an_endpoint_of_another_workspace_is_refused_before_the_start(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    for whole in ({"second_endpoint": "nobody's"}, {"simulators": [{"endpoint": "nobody's"}]}):
        with pytest.raises(ValidationError, match="no endpoint named"):
            small(endpoint, **whole)
        Dataset.objects.all().delete()
    for simulators in ("judge", [{"address": "x"}], [3]):
        with pytest.raises(ValidationError, match="expected a list such as"):
            small(endpoint, simulators=simulators)
        Dataset.objects.all().delete()


def test_the_plan_counts_each_simulator_at_its_own_prices(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, price_in=0, price_out=0)
    make_endpoint(scripted, name="judge", price_in=5, price_out=5)

    def planned(overrides: dict[str, Any]) -> Any:
        plans = pipeline_plan(content=RECIPE, instances=3, longest=30, endpoint=endpoint, overrides=overrides)
        return {plan.name: plan for plan in plans}["simulators"]

    own = planned({})
    named = planned({"*": {"simulators": [{"endpoint": "judge"}, {"endpoint": "judge", "model": "other"}]}})
    assert (named.calls, own.cost) == (2 * own.calls, 0)
    assert named.cost > 0


def test_a_paused_pipeline_stays_paused_until_somebody_resumes_it(scripted: ScriptedProcess) -> None:
    pipeline = small(make_endpoint(scripted))
    pipeline_advance(pipeline_pk=pipeline.pk)
    pipeline_pause(pipeline=pipeline)
    assert [run.state for run in pipeline.runs.all()] == ["paused"]
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "paused"
    run_inline(run=pipeline.runs.get())
    assert pipeline_advance(pipeline_pk=pipeline.pk) == "paused"
    pipeline.refresh_from_db()
    assert (pipeline.step, pipeline.reason) == (0, BY_RESEARCHER)
    pipeline_resume(pipeline=pipeline)
    assert carry(pipeline).state == "done"
    with pytest.raises(Conflict):
        pipeline_pause(pipeline=pipeline)


def test_a_changed_budget_of_a_pipeline_applies_to_its_run(scripted: ScriptedProcess) -> None:
    pipeline = small(make_endpoint(scripted), budget="0.001")
    carry(pipeline)
    assert pipeline.state == "paused"
    assert "budget" in pipeline.reason
    pipeline_budget_set(pipeline=pipeline, budget=Decimal("0.002"))
    run = pipeline.runs.get()
    assert run.budget_cost == Decimal("0.002")
    pipeline_budget_set(pipeline=pipeline, budget=Decimal(5))
    pipeline_resume(pipeline=pipeline)
    carry(pipeline)
    assert pipeline.state == "done"
    assert sum(run.spent_cost for run in pipeline.runs.all()) <= 5
    with pytest.raises(Conflict):
        pipeline_budget_set(pipeline=pipeline, budget=None)


def test_a_budget_below_what_has_been_spent_is_refused(scripted: ScriptedProcess) -> None:
    pipeline = small(make_endpoint(scripted))
    pipeline_advance(pipeline_pk=pipeline.pk)
    run_inline(run=pipeline.runs.get())
    with pytest.raises(ValidationError, match="has been spent or reserved"):
        pipeline_budget_set(pipeline=pipeline, budget=Decimal("0.0000001"))
    pipeline_budget_set(pipeline=pipeline, budget=None)
    pipeline.refresh_from_db()
    assert "*" not in pipeline.overrides


def test_all_or_single_failed_calls_of_a_pipeline_can_be_retried(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, model="scripted?refuse=number 1|number 2&code=bad")
    pipeline = carry(small(endpoint))
    run = pipeline.runs.get(options__step="explain")
    failed = list(run.calls.filter(state="failed").order_by("pk"))
    assert len(failed) == 2
    assert pipeline.results["explain"]["failed"] == 2
    Run.objects.filter(pk=run.pk).update(model="scripted")
    assert pipeline_retry_failed(pipeline=pipeline, calls=[failed[0].pk]) == 1
    run_inline(run=run)
    assert run.calls.filter(state="failed").count() == 1
    call_command("pipeline_control", str(pipeline.pk), "retry", stdout=StringIO())
    run_inline(run=run)
    assert not run.calls.filter(state="failed").exists()


def test_a_pipeline_is_controlled_from_the_admin_the_api_and_a_command(scripted: ScriptedProcess) -> None:
    boss = make_user("boss", staff=True)
    client = Client()
    client.force_login(boss)
    pipeline = small(make_endpoint(scripted, by=boss), by=boss)
    page = reverse("admin:evaluation_pipeline_change", args=[pipeline.pk])
    assert "Pause" in client.get(page).content.decode()
    client.post(reverse("admin:evaluation_pipeline_do", args=[pipeline.pk, "pause"]))
    shown = client.get(page).content.decode()
    assert BY_RESEARCHER in shown
    assert "Change the budget" in shown
    client.post(reverse("admin:evaluation_pipeline_budget", args=[pipeline.pk]), {"budget": "2.5"})
    pipeline.refresh_from_db()
    assert pipeline.overrides["*"]["budget"] == "2.5"
    address = f"/api/v1/pipelines/{pipeline.pk}/"
    changed = client.patch(address, {"budget": "3"}, content_type="application/json").json()
    assert changed["overrides"]["*"]["budget"] == "3.000000"
    assert client.post(f"{address}resume/").json()["state"] == "running"
    assert client.post(f"{address}retry/").status_code == 409
    assert client.post(f"{address}dance/").status_code == 404
    assert [one["id"] for one in client.get("/api/v1/pipelines/").json()] == [pipeline.pk]
    out = StringIO()
    call_command("pipeline_control", str(pipeline.pk), "cancel", stdout=out)
    assert "is cancelled" in out.getvalue()
    assert client.post(f"{address}pause/").status_code == 409


def test_the_form_shows_what_each_step_would_ask_and_creates_nothing(scripted: ScriptedProcess) -> None:
    boss = make_user("boss", staff=True)
    client = Client()
    client.force_login(boss)
    endpoint = make_endpoint(scripted, by=boss)
    dataset = Dataset.objects.create(name="questions", workspace=workspace_personal(user=boss))
    Instance.objects.create(dataset=dataset, key="q", input="Can owls swim?", gold_label="no")
    fields = {"recipe": "p1-yes-no", "material": dataset.pk, "endpoint": endpoint.pk, "overrides": "{}"}
    fields["allow_own_model"] = "on"
    preview = reverse("admin:evaluation_pipeline_preview")
    shown = client.post(
        preview, fields | {"simulators": f"{endpoint.name} other\n{endpoint.name}"}
    ).content.decode()
    assert "explain-cot" in shown
    assert "left out: no second model" in shown.lower()
    wrong = client.post(preview, fields | {"simulators": "nobody"}).content.decode()
    assert "Fix these problems" in wrong
    assert "no endpoint named" in wrong
    assert not Pipeline.objects.exists()
