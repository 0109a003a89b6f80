"""The likely cost beside the highest: from earlier replies of the same model in the same kind of step, with its range."""

from __future__ import annotations

import json
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evaluation.models import Pipeline
from evaluation.pipelines.advance import pipeline_advance
from evaluation.pipelines.contract import StepPlan
from evaluation.pipelines.plan import likely_cost
from evaluation.runs.estimate import run_estimate
from evaluation.runs.lifecycle import run_start
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


def test_the_likely_cost_of_a_run_is_close_to_what_it_costs(
    client: Client, scripted: ScriptedProcess
) -> None:
    endpoint = make_endpoint(scripted, price_in=10, price_out=100)
    before = run_estimate(run=make_run(endpoint, make_material(4, slug="before"), started=False))
    assert (before.low, before.high, before.earlier) == (None, None, 0)
    first = make_run(endpoint, make_material(30, slug="first"))
    work(first)
    second = make_run(endpoint, make_material(60, slug="second"), started=False, use_cache=False)
    estimate = run_estimate(run=second)
    assert estimate.earlier == 30
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low <= estimate.likely <= estimate.high < estimate.most
    client.force_login(make_user("boss", staff=True, is_superuser=True))
    page = client.get(reverse("admin:evaluation_run_change", args=[second.pk])).content.decode()
    assert f"({estimate.low:.4f} to {estimate.high:.4f}, by 30 earlier replies)" in page
    said = client.get(f"/api/v1/runs/{second.pk}/estimate/").json()
    assert (Decimal(said["low"]), said["earlier"]) == (estimate.low, 30)
    out = StringIO()
    call_command("simulate", "before", "--endpoint", "scripted", "--dry-run", stdout=out)
    assert "by 30 earlier replies" in out.getvalue()
    run_start(run=second)
    work(second)
    assert second.spent_cost / 2 < estimate.likely < second.spent_cost * 2


def test_a_plan_names_the_likely_cost_once_the_models_have_replied(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    make_endpoint(scripted)
    file = tmp_path / "questions.json"
    file.write_text(json.dumps([{"question": f"Can animal {n} swim?"} for n in range(6)]))

    def dry() -> str:
        out = StringIO()
        call_command("pipeline", "p1-yes-no", dataset=file, endpoint="scripted", dry_run=True, stdout=out)
        return out.getvalue()

    assert "earlier replies" not in dry()
    out = StringIO()

    def leave(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluation.management.commands.pipeline.time.sleep", leave)
        with pytest.raises(KeyboardInterrupt):
            call_command(
                "pipeline", "p1-yes-no", dataset=file, endpoint="scripted", allow_own_model=True, stdout=out
            )
    pipeline = Pipeline.objects.get()
    pipeline_advance(pipeline_pk=pipeline.pk)
    for run in pipeline.runs.all():
        work(run)
    line = next(line for line in dry().splitlines() if "; by earlier replies about" in line)
    assert line.strip().startswith("explain")


def test_the_likely_cost_of_a_whole_plan_is_known_only_if_every_step_is() -> None:
    known = StepPlan("a", "explain", 5, Decimal(9), "", Decimal(2), Decimal(1), Decimal(3))
    assert likely_cost([known, known, StepPlan("b", "report")]) == (Decimal(4), Decimal(2), Decimal(6))
    assert likely_cost([known, StepPlan("c", "explain", 5, Decimal(9))]) is None
    assert likely_cost([StepPlan("b", "report")]) is None
