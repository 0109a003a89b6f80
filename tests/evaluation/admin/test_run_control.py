"""Budgets and retries of a run from the admin, the API and the command line."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from evaluation.models import Run
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    return client


def stopped_by_budget(scripted: ScriptedProcess) -> Run:
    run = make_run(make_endpoint(scripted), make_material(6), budget_calls=4)
    work(run)
    assert (run.state, run.sent_calls) == ("paused", 4)
    return run


def test_a_budget_is_raised_and_lowered_in_the_admin(boss: Client, scripted: ScriptedProcess) -> None:
    run = stopped_by_budget(scripted)
    page = reverse("admin:evaluation_run_change", args=[run.pk])
    assert "Change the budget" in boss.get(page).content.decode()
    change = reverse("admin:evaluation_run_budget", args=[run.pk])
    refused = boss.post(change, {"budget_calls": "3", "budget_cost": ""}, follow=True).content.decode()
    assert "4 requests have been sent. Enter that number or more." in refused
    boss.post(change, {"budget_calls": "6", "budget_cost": "2.5"})
    run.refresh_from_db()
    assert (run.budget_calls, float(run.budget_cost or 0)) == (6, 2.5)
    boss.post(reverse("admin:evaluation_run_do", args=[run.pk, "resume"]))
    work(run)
    assert run.state == "done"


def test_the_share_of_failed_calls_is_changed_on_the_page_over_the_api_and_by_the_command(
    boss: Client, scripted: ScriptedProcess
) -> None:
    run = make_run(make_endpoint(scripted, concurrency=1), make_material(14), model="scripted?status=400")
    work(run)
    assert "allow a larger share of failed calls" in run.reason
    page = boss.get(reverse("admin:evaluation_run_change", args=[run.pk])).content.decode()
    assert "Largest share of failed calls" in page
    change = reverse("admin:evaluation_run_budget", args=[run.pk])
    boss.post(change, {"budget_calls": "", "budget_cost": "", "max_failed_share": "0.6"})
    run.refresh_from_db()
    assert run.max_failed_share == 0.6
    boss.post(change, {"budget_calls": "", "budget_cost": "", "max_failed_share": "6"})
    url = f"/api/v1/runs/{run.pk}/"
    assert boss.patch(url, {"max_failed_share": 1.5}, content_type="application/json").status_code == 400
    said = boss.patch(url, {"max_failed_share": 0.7}, content_type="application/json").json()
    assert said["max_failed_share"] == 0.7
    call_command("run", str(run.pk), "budget", "--failed-share", "1", stdout=StringIO())
    with pytest.raises(CommandError):
        call_command("run", str(run.pk), "budget", "--failed-share", "-1", stdout=StringIO())
    run.refresh_from_db()
    assert (run.max_failed_share, run.budget_calls) == (1.0, None)
    boss.post(reverse("admin:evaluation_run_do", args=[run.pk, "resume"]))
    work(run)
    assert run.state == "incomplete", "the larger share lets the run end"


def test_selected_calls_are_retried_in_the_admin(boss: Client, scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(3), model="scripted?status=400")
    work(run)
    one = run.calls.get(key="item-1")
    url = reverse("admin:evaluation_call_changelist")
    said = boss.post(url, {"action": "retry", "_selected_action": [one.pk]}, follow=True).content.decode()
    assert "1 failed call is sent again." in said
    assert set(run.calls.filter(state="pending")) == {one}


def test_budget_and_retry_over_the_api(boss: Client, scripted: ScriptedProcess) -> None:
    run = stopped_by_budget(scripted)
    url = f"/api/v1/runs/{run.pk}/"

    def patch(**body: Any) -> Any:
        return boss.patch(url, body, content_type="application/json")

    assert patch(budget_calls=2).status_code == 400
    assert patch(budget_calls=6).json()["budget_calls"] == 6
    assert patch(budget_cost="1.5").json()["budget_calls"] == 6
    assert patch(budget_calls=None).json()["budget_calls"] is None
    Run.objects.filter(pk=run.pk).update(model="scripted?status=400")
    boss.post(f"{url}resume/")
    work(run)
    failed = run.calls.filter(state="failed").values_list("pk", flat=True)
    assert len(failed) == 2
    boss.post(f"{url}retry/", {"calls": [failed[0]]}, content_type="application/json")
    assert run.calls.filter(state="pending").count() == 1


def test_budget_and_retry_from_the_command_line(scripted: ScriptedProcess) -> None:
    run = stopped_by_budget(scripted)

    def command(*words: str) -> str:
        out = StringIO()
        call_command("run", str(run.pk), *words, stdout=out)
        return out.getvalue()

    assert "4 of 6 calls done" in command("show")
    with pytest.raises(CommandError, match="or more"):
        command("budget", "--calls", "1")
    assert "sent 4 of 6 requests" in command("budget", "--calls", "6")
    assert "is running" in command("resume")
    assert "is paused" in command("pause")
    assert "is cancelled" in command("cancel")
    with pytest.raises(CommandError, match="is cancelled"):
        command("retry")
