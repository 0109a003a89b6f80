"""Researchers' jobs and annotators' housekeeping never wait for each other."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import redis
from django.conf import settings as django_settings
from django.utils import timezone

from annotator.models import Assignment
from annotator.services.assignment import assignment_next
from evaluation.runs.lifecycle import run_start
from foretell.celery import app
from tests.evaluation.conftest import scripted, scripted_process  # noqa: F401
from tests.evaluation.run_factories import make_endpoint, make_material, make_run
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_participation, make_study
from tests.processes import WorkerProcess, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault]
LONG = {
    "evaluation.run_work",
    "evaluation.pipeline_advance",
    "evaluation.report_build",
    "evaluation.release_build",
    "evaluation.kept_job_run",
    "evaluation.plan_job_run",
    "annotator.export_build",
    "annotator.file_import_run",
    "annotator.figures_renew",
    # These wait for other servers.
    "annotator.panel_reconcile_sweep",
    "annotator.pay_batches_sweep",
    "annotator.review_decisions_carry_out",
    "annotator.review_decisions_sweep",
}


def test_only_long_jobs_go_to_the_long_queue() -> None:
    app.loader.import_default_modules()
    ours = [name for name in app.tasks if name.startswith(("annotator.", "evaluation."))]
    queues = {name: app.amqp.router.route({}, name)["queue"].name for name in ours}
    assert {name for name, queue in queues.items() if queue == "long"} == LONG
    assert set(queues.values()) == {"long", "celery"}


def test_leases_expire_while_every_worker_hangs_on_a_model(
    scripted: ScriptedProcess,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: object,
) -> None:
    monkeypatch.setenv("LLM_ALLOWED_HOSTS", scripted.host)
    settings.LLM_ALLOWED_HOSTS = [scripted.host]  # type: ignore[attr-defined]
    redis.Redis.from_url(django_settings.CELERY_BROKER_URL).flushdb()
    endpoint = make_endpoint(scripted, timeout_seconds=300)
    runs = [
        make_run(endpoint, make_material(2), model=f"scripted?faults=1&kinds={kind}", started=False)
        for kind in ("whitespace", "hang")
    ]
    study = make_study(items=1, launched=True, slug="people")
    lease = assignment_next(participation=make_participation(study))
    assert lease is not None
    Assignment.objects.filter(pk=lease.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    worker = WorkerProcess(tmp_path, only="worker", WORKER_CONCURRENCY="1")
    housekeeping = WorkerProcess(tmp_path, only="housekeeping", SOLE_WORKER="1")
    try:
        worker.start()
        for run in runs:
            run_start(run=run)
        wait_until(lambda: scripted.stats()["in_flight"] or scripted.stats()["requests"], 300, "a run hangs")
        housekeeping.start()
        wait_until(lambda: Assignment.objects.get(pk=lease.pk).state == "expired", 300, "the lease expires")
        assert {run.calls.filter(state="done").count() for run in runs} == {0}
    finally:
        worker.stop()
        housekeeping.stop()
