"""The live page of a study with a stopping rule: valid intervals of planned comparisons, not the plain ones."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotator.models import Study
from evaluation.models import PlanJob, PlanLook
from evaluation.reports.plan_so_far import planned_so_far
from evaluation.reports.words import number
from evaluation.services.plan_job import plan_job_run
from tests.evaluation.reports.plans import H1, judge, sealed_study
from tests.evaluation.reports.studies import cells_of, client_of, stored

pytestmark = pytest.mark.django_db


def test_the_live_page_shows_intervals_that_may_be_looked_at() -> None:
    study = sealed_study(instances=40, hypotheses=[H1], stopping="confidence_sequence")
    client = client_of(study)
    part = reverse("evaluation:live_plan", args=[study.pk])
    opened = client.get(part).content.decode()
    assert "Not computed yet." in opened
    assert "Compute with the latest judgments" in opened
    assert not PlanJob.objects.exists(), "opening a page starts nothing"
    asked = client.post(part, follow=True).content.decode()
    assert "Computing the intervals with the latest judgments. <a" in asked
    plan_job_run(job_pk=PlanJob.objects.get().pk)
    assert "nobody has judged yet" in client.get(part).content.decode()
    judge(study, instances=30)
    found = planned_so_far(study=study)
    assert found is not None
    ((_, value),) = found
    assert value.n <= 30
    assert "confidence sequence over" in value.interval
    content = stored(study, replicates=100).content
    assert content is not None
    cells = cells_of(content, "planned-comparisons")
    plain, valid = cells["H1", "Difference"], cells["H1", "Difference, valid at looks"]
    assert (valid["low"], valid["high"]) == (value.low, value.high)
    assert valid["high"] - valid["low"] > plain["high"] - plain["low"]
    assert cells["H1", "Result"]["text"] == ("supported" if value.low > 0 else "not supported")
    assert "Judgments have been added or excluded since." in client.get(part).content.decode()
    looks = PlanLook.objects.count()
    client.post(part)
    assert PlanLook.objects.count() == looks + 1
    assert PlanLook.objects.latest("pk").judgments == 120
    api = f"/api/v1/studies/{study.slug}/plan/so-far/"
    assert (client.get(api).json()["state"], client.post(api).status_code) == ("queued", 202)
    waiting = client.get(part, headers={"hx-request": "true"}).content.decode()
    assert "Computing the intervals with the latest judgments. These are the last ones." in waiting
    job = PlanJob.objects.get(state="queued")
    assert client.post(part).status_code == 302
    assert PlanJob.objects.filter(state="queued").count() == 1, "asked for once"
    assert PlanLook.objects.count() == looks + 1, "one look, however often it's asked for"
    plan_job_run(job_pk=job.pk)
    shown = client.get(part, headers={"hx-request": "true"}).content.decode()
    assert "Computing" not in shown
    assert "Compute with" not in shown, "nothing has changed since"
    told = client.get(api).json()
    assert (told["state"], told["current"], told["values"][0]["low"]) == ("done", True, value.low)
    viewer = client_of(study, role="viewer")
    assert (viewer.get(part).status_code, viewer.post(part).status_code) == (200, 404)
    job.inputs, job.digest, job.state, job.error = {}, "", "failed", "no memory"
    job.result = None
    job.save()
    assert "The intervals couldn’t be computed: no memory" in client.get(part).content.decode()
    assert "Compute with the latest judgments" in client.get(part).content.decode()
    client.post(part)
    plan_job_run(job_pk=PlanJob.objects.get(state="queued").pk)
    assert f"{number(value.low)} to {number(value.high)}" in shown
    assert number(plain["low"]) not in shown
    Study.objects.update(state="live", snapshot=study.snapshots.create(number=1, digest="d", content={}))
    assert part in client.get(reverse("admin:study_live", args=[study.pk])).content.decode()


def test_without_a_stopping_rule_the_live_page_shows_nothing() -> None:
    study = sealed_study(instances=2, hypotheses=[H1])
    assert planned_so_far(study=study) is None
    shown = client_of(study).get(
        reverse("evaluation:live_plan", args=[study.pk]), headers={"hx-request": "true"}
    )
    assert not shown.content.strip()
    api = f"/api/v1/studies/{study.slug}/plan/so-far/"
    assert (client_of(study).get(api).status_code, client_of(study).post(api).status_code) == (404, 409)
