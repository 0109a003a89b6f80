"""An endpoint whose address or deployment name changes while its run is under way: no answer counts for another model."""

from __future__ import annotations

import re
import threading
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotator.core.errors import Conflict
from annotator.models import AuditAction, AuditEntry, Judgment
from evaluation.models import Endpoint, Run
from evaluation.runs.batch import batch_work
from evaluation.runs.claim import claim
from evaluation.runs.lifecycle import run_deployment_confirm, run_resume, run_retry_failed
from evaluation.runs.registry import step_get
from evaluation.runs.sweep import runs_sweep
from evaluation.services.call_files import calls_export, calls_import
from tests.evaluation.run_factories import (
    make_endpoint,
    make_material,
    make_run,
    states,
    wait_for,
    work,
    work_and_close,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("scripted_allowed")]


@pytest.fixture
def moved(scripted: ScriptedProcess, settings: Any) -> str:
    """Another address of the scripted provider."""
    host = scripted.host.replace("127.0.0.1", "localhost")
    settings.LLM_ALLOWED_HOSTS = [*settings.LLM_ALLOWED_HOSTS, host]
    return f"http://{host}/v1"


def host_of(url: str) -> str:
    return url.removeprefix("http://").removesuffix("/v1")


def move(to: str) -> None:
    Endpoint.objects.update(base_url=to)


def half_answered(scripted: ScriptedProcess, **endpoint: Any) -> Run:
    """A run with two of its five calls answered, which may send the others."""
    run = make_run(make_endpoint(scripted, **endpoint), make_material(5), budget_calls=2)
    work(run)
    assert (run.state, states(run)) == ("paused", {"done": 2, "pending": 3})
    Run.objects.filter(pk=run.pk).update(budget_calls=None)
    return run_resume(run=run)


def raters_of(run: Run) -> dict[str, int]:
    """How many judgments each rater has."""
    names = Judgment.objects.filter(study=run.study).values_list("rater__name", flat=True)
    return {name: list(names).count(name) for name in names}


def test_a_run_pauses_if_its_endpoint_moves_after_an_answer(scripted: ScriptedProcess, moved: str) -> None:
    run = half_answered(scripted)
    move(moved)
    scripted.reset()
    work(run)
    assert (run.state, states(run)) == ("paused", {"done": 2, "pending": 3})
    assert scripted.host in run.reason
    assert host_of(moved) in run.reason
    assert "confirm that it's the same deployment" in run.reason
    assert scripted.stats()["requests"] == 0
    move(scripted.base_url)
    work(run_resume(run=run))
    run.refresh_from_db()
    assert (run.state, list(raters_of(run).values())) == ("done", [5])


def test_a_mistyped_address_can_be_corrected_and_the_judgments_are_of_the_correct_one(
    scripted: ScriptedProcess,
) -> None:
    mistyped = f"{scripted.root}/nothing-here/v1"
    run = make_run(make_endpoint(scripted, base_url=mistyped), make_material(3))
    work(run)
    assert (run.state, states(run)) == ("paused", {"pending": 3})
    move(scripted.base_url)
    work(run_resume(run=run))
    run.refresh_from_db()
    assert run.state == "done"
    same = make_run(Endpoint.objects.get(), make_material(1, slug="other"), started=False)
    assert same.rater is not None
    assert raters_of(run) == {same.rater.name: 3}
    assert "nothing-here" not in same.rater.name


def test_a_corrected_run_leaves_out_what_the_simulator_at_that_address_has_judged(
    scripted: ScriptedProcess,
) -> None:
    study = make_material(2)
    work(make_run(make_endpoint(scripted, name="first"), study))
    mistyped = make_endpoint(scripted, name="second", base_url=f"{scripted.root}/nothing-here/v1")
    run = make_run(mistyped, study, use_cache=False)
    Endpoint.objects.filter(pk=mistyped.pk).update(base_url=scripted.base_url)
    scripted.reset()
    work(run)
    assert (run.state, states(run), scripted.stats()["requests"]) == ("done", {}, 0)
    assert list(raters_of(run).values()) == [2]


def test_replies_on_their_way_when_the_endpoint_moves_count_for_where_they_come_from(
    scripted: ScriptedProcess, moved: str
) -> None:
    run = make_run(make_endpoint(scripted, concurrency=2), make_material(6))
    assert run.rater is not None
    scripted.hold()
    worker = threading.Thread(target=work_and_close, args=(run.pk,))
    worker.start()
    try:
        wait_for(lambda: scripted.stats()["requests"] >= 2)
        move(moved)
        # Another worker, which has a client for the new address already, sends nothing before these are answered.
        other = claim(
            run=run, endpoint=Endpoint.objects.get(), step=step_get("simulate"), token="1:other", want=9
        )
        assert (other.ready, other.state) == ((), "running")
    finally:
        scripted.release()
        worker.join()
    answered = run.calls.filter(state="done").count()
    work(run)
    assert (run.state, states(run)) == ("paused", {"done": answered, "pending": 6 - answered})
    assert 0 < answered < 6
    assert host_of(moved) in run.reason
    assert raters_of(run) == {run.rater.name: answered}
    assert scripted.host in run.rater.name


def test_a_worker_whose_endpoint_changed_and_changed_back_before_it_claims_sends_nothing(
    scripted: ScriptedProcess, moved: str
) -> None:
    run = make_run(make_endpoint(scripted), make_material(2))
    move(moved)
    held = Endpoint.objects.get()  # a worker makes its client now
    move(scripted.base_url)
    got = claim(run=run, endpoint=held, step=step_get("simulate"), token="0:me", want=2)
    assert (got.ready, got.stale, got.state) == ((), True, "running")
    assert states(run) == {"pending": 2}


def test_the_requests_of_a_killed_worker_do_not_hold_a_run_to_an_address_that_never_answered(
    scripted: ScriptedProcess, moved: str
) -> None:
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(2))
    claim(run=run, endpoint=endpoint, step=step_get("simulate"), token="0:dead", want=2)
    move(moved)
    runs_sweep()
    work(run)
    assert run.state == "done"
    assert run.rater is not None
    assert host_of(moved) in run.rater.name
    assert raters_of(run) == {run.rater.name: 2}


def test_a_worker_that_read_the_run_before_it_moved_applies_answers_for_the_new_address(
    scripted: ScriptedProcess, moved: str
) -> None:
    run = make_run(make_endpoint(scripted), make_material(1))
    before = Run.objects.select_related("study", "rater", "endpoint").get(pk=run.pk)
    move(moved)
    endpoint = Endpoint.objects.get()
    got = claim(run=run, endpoint=endpoint, step=step_get("simulate"), token="0:new", want=1)
    assert len(got.ready) == 1
    run.calls.update(state="done", parsed={"helpful": "yes", "answer": "yes"}, claimed_by="", reserved_cost=0)
    with transaction.atomic():
        step_get("simulate").apply(before, [[run.calls.get()]])
    assert [host_of(moved) in name for name in raters_of(run)] == [True]


def test_a_failed_call_is_not_retried_at_another_address(scripted: ScriptedProcess, moved: str) -> None:
    run = make_run(make_endpoint(scripted), make_material(2))
    work(run)
    run.calls.filter(key="item-1").update(state="failed", error_kind="server")
    move(moved)
    scripted.reset()
    assert run_retry_failed(run=run, calls=[run.calls.get(key="item-1").pk]) == 1
    work(run)
    assert (run.state, states(run)) == ("paused", {"done": 1, "pending": 1})
    assert host_of(moved) in run.reason
    assert scripted.stats()["requests"] == 0


def test_a_batch_is_read_only_where_it_was_sent(scripted: ScriptedProcess, moved: str) -> None:
    run = make_run(make_endpoint(scripted), make_material(3), mode="batch")
    assert batch_work(run_pk=run.pk).ended == "time"
    move(moved)
    assert batch_work(run_pk=run.pk).ended == "paused"
    run.refresh_from_db()
    assert run.reason.startswith(f"A batch of this run is at {scripted.host}")
    assert host_of(moved) in run.reason
    assert states(run) == {"in_flight": 3}
    run_deployment_confirm(run=run, deployments=[host_of(moved)])
    wait_for(lambda: batch_work(run_pk=run.pk).ended == "idle")
    assert states(run) == {"done": 3}
    assert run.rater is not None
    assert raters_of(run) == {run.rater.name: 3}


def test_imported_replies_stay_replies_of_the_address_that_they_were_imported_for(
    scripted: ScriptedProcess, moved: str
) -> None:
    run = make_run(make_endpoint(scripted), make_material(2))
    work(run)
    lines = list(calls_export(run=run))
    study, endpoint = make_material(2, slug="again"), make_endpoint(scripted, name="other")
    calls_import(lines=lines, endpoint=endpoint, study=study)
    move(moved)
    endpoint.refresh_from_db()
    again = make_run(endpoint, study)
    work(again)
    assert list(again.calls.values_list("from_cache", flat=True)) == [False, False]
    assert [host_of(moved) in name for name in raters_of(again)] == [True]


def test_a_named_deployment_can_move(scripted: ScriptedProcess, moved: str) -> None:
    run = half_answered(scripted, deployment="the lab's own")
    move(moved)
    work(run)
    assert (run.state, list(raters_of(run).values())) == ("done", [5])


def test_a_deployment_named_in_the_middle_has_to_be_confirmed(scripted: ScriptedProcess) -> None:
    run = half_answered(scripted)
    Endpoint.objects.update(deployment="the lab's own")
    work(run)
    assert run.state == "paused"
    assert "the endpoint scripted is at the lab's own now" in run.reason
    work(run_deployment_confirm(run=run, deployments=["the lab's own"]))
    run.refresh_from_db()
    assert (run.state, list(raters_of(run).values())) == ("done", [5])


def test_a_confirmation_is_recorded_and_covers_no_further_move(scripted: ScriptedProcess, moved: str) -> None:
    run = half_answered(scripted)
    with pytest.raises(Conflict, match="Resume the run"):
        run_deployment_confirm(run=run, deployments=[scripted.host])
    move(moved)
    work(run)
    run_deployment_confirm(run=run, deployments=[host_of(moved)])
    entry = AuditEntry.objects.get(action=AuditAction.DEPLOYMENT_CONFIRMED)
    assert (entry.before, entry.after) == (
        {"deployments": [scripted.host]},
        {"deployments": [scripted.host, host_of(moved)]},
    )
    assert entry.study == run.study
    move(f"{scripted.root}/elsewhere/v1")
    work(run)
    assert run.state == "paused"
    assert f"{scripted.host} and {host_of(moved)}" in run.reason
    move(moved)
    work(run_resume(run=run))
    run.refresh_from_db()
    assert (run.state, list(raters_of(run).values())) == ("done", [5])


def test_nothing_is_confirmed_if_the_endpoint_has_moved_again_since_the_page_was_loaded(
    client: Client, scripted: ScriptedProcess, moved: str
) -> None:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    run = half_answered(scripted)
    move(moved)
    work(run)
    page = client.get(reverse("admin:evaluation_run_change", args=[run.pk])).content.decode()
    shown = re.findall('name="deployments" value="([^"]+)"', page)
    assert shown == [host_of(moved)]
    assert f"The endpoint is at {host_of(moved)} now." in page
    move(f"{moved.removesuffix('/v1')}/elsewhere/v1")
    do = reverse("admin:evaluation_run_do", args=[run.pk, "same-deployment"])
    said = client.post(do, {"deployments": shown}, follow=True).content.decode()
    elsewhere = f"{host_of(moved)}/elsewhere"
    assert f"Nothing was confirmed: {host_of(moved)} was to be confirmed, but the endpoint scripted" in said
    answer = client.post(f"/api/v1/runs/{run.pk}/same-deployment/")
    assert answer.status_code == 409
    assert f"confirm {elsewhere}." in answer.content.decode()
    run.refresh_from_db()
    assert (run.state, run.endpoint_settings["deployments"]) == ("paused", [scripted.host])
    assert not AuditEntry.objects.filter(action=AuditAction.DEPLOYMENT_CONFIRMED).exists()
    run_deployment_confirm(run=run, deployments=[elsewhere])
    assert Run.objects.get().endpoint_settings["deployments"] == [scripted.host, elsewhere]


def test_a_run_is_confirmed_on_its_page_over_the_api_and_from_the_command_line(
    client: Client, scripted: ScriptedProcess, moved: str
) -> None:
    boss = make_user("boss", staff=True, is_superuser=True)
    client.force_login(boss)
    run = half_answered(scripted)
    page = reverse("admin:evaluation_run_change", args=[run.pk])
    api = f"/api/v1/runs/{run.pk}/same-deployment/"
    assert client.post(api).status_code == 409
    move(moved)
    work(run)
    assert "It&#x27;s the same deployment: resume" in client.get(page).content.decode()
    do = reverse("admin:evaluation_run_do", args=[run.pk, "same-deployment"])
    shown = {"deployments": host_of(moved)}
    assert f'name="deployments" value="{host_of(moved)}"' in client.get(page).content.decode()
    assert "The new deployment is confirmed" in client.post(do, shown, follow=True).content.decode()
    run.refresh_from_db()
    assert run.state == "running"
    assert AuditEntry.objects.get(action=AuditAction.DEPLOYMENT_CONFIRMED).actor == boss
    move(f"{moved.removesuffix('/v1')}/second/v1")
    work(run)
    second = {"deployments": [f"{host_of(moved)}/second"]}
    answer = client.post(api, second, content_type="application/json")
    assert (answer.status_code, answer.json()["state"]) == (200, "running")
    with pytest.raises(CommandError, match="Resume the run"):
        call_command("run", str(run.pk), "same-deployment", stdout=StringIO())
    move(f"{moved.removesuffix('/v1')}/third/v1")
    work(run)
    assert run.state == "paused"
    with pytest.raises(CommandError, match=f"confirm {host_of(moved)}/third"):
        call_command("run", str(run.pk), "same-deployment", stdout=StringIO())
    third = f"{host_of(moved)}/third"
    call_command("run", str(run.pk), "same-deployment", deployment=[third], stdout=StringIO())
    move(scripted.base_url)
    work(run)
    assert (run.state, list(raters_of(run).values())) == ("done", [5])
    assert "It&#x27;s the same deployment" not in client.get(page).content.decode()
