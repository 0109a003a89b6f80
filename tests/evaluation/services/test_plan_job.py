"""Calculations on plans in the background: kept by their inputs, one at a time in a workspace, cancelled, and found again after a kill."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from annotator.core import jobs
from annotator.core.errors import Conflict
from annotator.models import Study
from evaluation.models import AnalysisPlan, PlanJob
from evaluation.services.analysis_plan import plan_save
from evaluation.services.plan_job import plan_job_cancel, plan_job_run, plan_jobs_sweep, plan_power_request
from tests.evaluation.reports.studies import client_of
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db
ASSUMED = {"precision": 0.7, "accuracy": 0.9, "clustering": 0.1}
H1 = {"name": "H1", "metric": "precision", "of": "robot-a", "against": "robot-b", "smallest_effect": 0.2}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs for which a worker was woken."""
    found: list[int] = []

    def wake(name: str, *, job_pk: int = 0, **_: Any) -> bool:
        found.append(job_pk)
        return True

    monkeypatch.setattr(jobs, "enqueue", wake)
    return found


def planned(**more: Any) -> Study:
    study = make_study(**more)
    for number in range(8):
        make_item(study, instance=f"x{number // 2}", system="robot-ab"[:6] + "ab"[number % 2])
    plan_save(study=study, document={"hypotheses": [H1]})
    return study


def ask(study: Study, **changed: float) -> PlanJob:
    return plan_power_request(study=study, assumed=ASSUMED | changed, runs=3)


def test_a_result_is_kept_for_its_inputs_and_shown_with_its_plan(
    sent: list[int], django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[Any]]
) -> None:
    study = planned()
    with django_capture_on_commit_callbacks(execute=True):
        job = ask(study)
    assert ask(study).pk == job.pk
    assert sent == [job.pk]
    with pytest.raises(Conflict, match="other assumptions"):
        ask(study, accuracy=0.8)
    assert plan_job_run(job_pk=job.pk)
    assert not plan_job_run(job_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, job.done, job.total) == ("done", 3, 3)
    first = AnalysisPlan.objects.get().power
    assert first == job.result
    other = ask(study, accuracy=0.8)
    assert plan_job_run(job_pk=other.pk)
    assert AnalysisPlan.objects.get().power != first
    assert ask(study).pk == job.pk
    assert AnalysisPlan.objects.get().power == first
    PlanJob.objects.create(study=study, kind="power", digest="d")
    with pytest.raises(IntegrityError), transaction.atomic():
        PlanJob.objects.create(study=study, kind="power", digest="d")


def test_a_cancelled_one_stores_nothing_and_a_saved_plan_cancels(sent: list[int]) -> None:
    study = planned()
    job = ask(study)
    assert plan_job_cancel(study=study)
    assert not plan_job_cancel(study=study)
    assert not plan_job_run(job_pk=job.pk)
    again = ask(study)
    assert again.pk != job.pk
    plan_save(study=study, document={"hypotheses": [H1 | {"smallest_effect": 0.1}]})
    again.refresh_from_db()
    assert again.state == "cancelled"
    assert AnalysisPlan.objects.get().power is None
    wrong = ask(study, precision=0.95)
    plan_job_run(job_pk=wrong.pk)
    wrong.refresh_from_db()
    assert wrong.state == "failed"
    assert "expected from 0.01 to 0.99" in wrong.error


@pytest.mark.django_db(transaction=True)
def test_one_at_a_time_in_a_workspace_and_a_killed_workers_starts_again(sent: list[int]) -> None:
    first = planned()
    second = planned(workspace=first.workspace)
    one, two = ask(first), ask(second)
    # Another worker computes the first, and is killed: its connection goes, and with it its lock.
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [jobs.lock_key("plan-job", first.workspace_id or 0)])
    PlanJob.objects.filter(pk=one.pk).update(state="running", started_at=timezone.now() - timedelta(hours=1))
    PlanJob.objects.filter(pk=two.pk).update(created_at=timezone.now() - timedelta(hours=1))
    sent.clear()
    assert not plan_job_run(job_pk=two.pk)
    assert plan_jobs_sweep() == 0
    other.close()
    assert plan_jobs_sweep() == 2
    assert sent == [one.pk, two.pk]
    sent.clear()
    assert plan_job_run(job_pk=one.pk)
    assert sent == [two.pk], "its worker wakes the next"
    one.refresh_from_db()
    assert one.state == "done"


def test_page_and_api_say_how_far_it_is_and_cancel_it(sent: list[int]) -> None:
    study = planned()
    client = client_of(study)
    page, api = reverse("evaluation:plan", args=[study.pk]), f"/api/v1/studies/{study.slug}/plan/power/"
    assert client.get(api).status_code == 404
    client.post(page, {"power": "1", **ASSUMED})
    assert "Waiting for a worker." in client.get(page).content.decode()
    PlanJob.objects.update(state="running", done=3, total=4)
    assert "Computing the power: 75 %" in client.get(page).content.decode()
    found = client.get(api).json()
    assert (found["state"], found["done"], found["total"], found["assumed"]) == ("running", 3, 4, ASSUMED)
    assert client.post(api, ASSUMED | {"accuracy": 0.8}, content_type="application/json").status_code == 409
    assert "Calculation cancelled." in client.post(page, {"power_cancel": "1"}, follow=True).content.decode()
    assert client.delete(api).status_code == 404
    assert client.post(api, {"accuracy": 2}, content_type="application/json").status_code == 400
    assert client.post(api, {}, content_type="application/json").status_code == 202
    assert client.delete(api).status_code == 204
    viewer = client_of(study, role="viewer")
    assert viewer.get(api).status_code == 200
    assert viewer.post(api, {}, content_type="application/json").status_code in (403, 404)
