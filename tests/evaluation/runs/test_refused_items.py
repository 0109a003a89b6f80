"""Items that a server refuses with 401, 403 or 404, and keys and addresses that are wrong."""

from __future__ import annotations

import random
from io import StringIO
from urllib.parse import urlencode

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from evaluation.models import Run
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.canary import ITEM_REFUSED, refusals_decide
from evaluation.runs.lifecycle import run_resume, run_retry_failed
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


def moderated(
    scripted: ScriptedProcess,
    *,
    items: int,
    refused: list[int],
    status: int = 403,
    concurrency: int = 8,
) -> Run:
    """A run on a server that refuses some of its items with this status."""
    study = make_material(items)
    words = [study.items.get(key=f"item-{n}").payload["follow_up"] for n in refused]
    model = (
        f"scripted?{urlencode({'refuse': '|'.join(words), 'refuse_status': status, 'code': 'moderation'})}"
    )
    return make_run(make_endpoint(scripted, concurrency=concurrency), study, model=model)


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize("status", [403, 404])
@pytest.mark.parametrize("refused", [[17, 18, 19], [0, 7]])
def test_items_that_the_server_refuses_do_not_stop_the_others(
    scripted: ScriptedProcess, status: int, refused: list[int]
) -> None:
    run = moderated(scripted, items=20, refused=refused, status=status, concurrency=1)
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"done": 20 - len(refused), "failed": len(refused)})
    assert {call.key for call in run.calls.filter(state="failed")} == {f"item-{n}" for n in refused}
    assert set(run.calls.filter(state="failed").values_list("error_kind", flat=True)) == {"item_refused"}
    assert f"refused by the server ({len(refused)})" in run.reason
    assert scripted.stats()["requests"] <= 20 + len(refused)


def test_a_spurious_401_in_the_middle_is_tried_again(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=1)
    run = make_run(endpoint, make_material(8), model="scripted?once_status=401&once_at=5")
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 8})
    assert scripted.stats()["requests"] == 9


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_key_that_is_withdrawn_in_the_middle_pauses_the_run(scripted: ScriptedProcess, status: int) -> None:
    run = make_run(make_endpoint(scripted), make_material(60), model=f"scripted?status={status}&after=30")
    work(run)
    assert run.state == "paused"
    assert f"HTTP {status}" in run.reason
    assert "continue without them" in run.reason
    assert states(run) == {"done": 30, "pending": 30}, "no call was given up"
    assert scripted.stats()["requests"] <= 30 + 30
    Run.objects.filter(pk=run.pk).update(model="scripted")
    run_resume(run=run)
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 60})


def test_a_run_continues_without_the_items_that_hold_it_up(boss: Client, scripted: ScriptedProcess) -> None:
    run = moderated(scripted, items=4, refused=[0, 1, 2], concurrency=1)
    work(run)
    assert (run.state, states(run)) == ("paused", {"pending": 4})
    page = boss.get(reverse("admin:evaluation_run_change", args=[run.pk])).content.decode()
    assert "Continue without these items" in page
    assert "Give up these calls" in page
    shown = boss.get(reverse("admin:evaluation_run_transcript", args=[run.pk]), {"outcome": "held"})
    assert "item-0" in shown.content.decode()
    said = boss.post(reverse("admin:evaluation_run_do", args=[run.pk, "continue-without"]), follow=True)
    assert "The items are left out, and the run has resumed." in said.content.decode()
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"done": 1, "failed": 3})
    Run.objects.filter(pk=run.pk).update(model="scripted")
    assert run_retry_failed(run=run) == 3
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 4})


def test_calls_are_given_up_over_the_api(boss: Client, scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted, concurrency=1), make_material(4), model="scripted?status=404")
    work(run)
    held = list(run.calls.exclude(error_kind="").values_list("pk", flat=True))
    url = f"/api/v1/runs/{run.pk}/"
    said = boss.post(f"{url}give-up/", {"calls": held[:1]}, content_type="application/json")
    assert (said.status_code, said.json()["progress"]["failed"], said.json()["state"]) == (200, 1, "paused")
    Run.objects.filter(pk=run.pk).update(model="scripted")
    said = boss.post(f"{url}continue-without/")
    assert (said.status_code, said.json()["state"]) == (200, "running")
    work(run)
    assert states(run) == {"failed": len(held), "done": 4 - len(held)}
    assert boss.post(f"{url}give-up/").status_code == 409


def test_calls_are_given_up_from_the_command_line(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(2), model="scripted?status=404")

    def command(*words: str) -> str:
        out = StringIO()
        call_command("run", str(run.pk), *words, stdout=out)
        return out.getvalue()

    with pytest.raises(CommandError, match="waits to be sent again"):
        command("give-up")
    work(run)
    one = run.calls.first()
    assert one is not None
    assert "1 failed call is given up." in command("give-up", "--call", str(one.pk))
    assert "2 failed" in command("continue-without")
    run.refresh_from_db()
    assert run.state == "incomplete", "no call is left"


def test_a_refused_item_counts_as_a_refusal_where_refusals_are_results() -> None:
    """The system under study refused this follow-up; the report's option says whether that counts as wrong."""
    outcome = Outcome(
        1, "pending", error_kind="not_found", status=404, pause="HTTP 404", if_refused={"output": "x"}
    )
    assert refusals_decide([outcome], latest="ur", is_answered=lambda: True, rng=random.Random(1)) == ""
    assert (outcome.state, outcome.parsed, outcome.error_kind) == ("done", {"output": "x"}, ITEM_REFUSED)
