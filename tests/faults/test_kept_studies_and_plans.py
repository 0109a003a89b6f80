"""A worker that is killed while it keeps a study, brings one back and computes a plan's power: another worker does all three again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from annotator.core import jobs
from annotator.models import Study
from annotator.services.study_removal import study_archive
from annotator.services.workspace import workspace_create
from evaluation.models import AnalysisPlan, KeptJob, KeptStudy, PlanJob
from evaluation.moves.kept_jobs import (
    bring_back_request,
    keep_request,
    kept_job_run,
    kept_jobs_sweep,
)
from evaluation.services.analysis_plan import plan_save
from evaluation.services.plan_job import plan_jobs_sweep, plan_power_request
from tests.evaluation.reports.studies import small_study
from tests.factories import make_item, make_study, make_user
from tests.processes import WorkerProcess, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault]
PASSPHRASE = "correct horse battery"
H1 = {"name": "H1", "metric": "precision", "of": "robot-a", "against": "robot-b", "smallest_effect": 0.2}
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def blocked() -> int:
    """How many connections wait for a lock of another one."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return int(cursor.fetchone()[0])


def planned(ada_workspace: object) -> Study:
    study = make_study(slug="planned", workspace=ada_workspace)
    for number in range(8):
        make_item(study, instance=f"x{number // 2}", system=f"robot-{'ab'[number % 2]}")
    plan_save(study=study, document={"hypotheses": [H1]})
    return study


def test_jobs_of_a_killed_worker_are_done_by_another_and_leave_nothing_half_made(
    tmp_path: Path, settings: Any
) -> None:
    files = tmp_path / "files"  # where a worker has them whose DATA_DIR is the test's folder
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": files}}
    settings.STORAGES = settings.STORAGES | {"default": storage}
    redis.Redis.from_url(django_settings.CELERY_BROKER_URL).flushdb()
    ada = make_user("ada", staff=True)
    workspace = workspace_create(by=ada, name="Owls")
    back, gone = (
        study_archive(study=small_study(workspace=workspace, slug=slug), anyway=True)
        for slug in ("back", "gone")
    )
    judgments = back.judgments.count()
    assert judgments == gone.judgments.count() > 0
    assert kept_job_run(job_pk=keep_request(study=back, by=ada, passphrase=PASSPHRASE).pk)
    first = KeptStudy.objects.get()
    redis.Redis.from_url(django_settings.CELERY_BROKER_URL).flushdb()  # the message of the job that is done

    power = plan_power_request(
        study=planned(workspace), assumed={"precision": 0.7, "accuracy": 0.9, "clustering": 0.1}, runs=3
    )
    keeping = keep_request(study=gone, by=ada, passphrase=PASSPHRASE)
    bringing = bring_back_request(kept=first, by=ada, passphrase=PASSPHRASE)
    # Each job comes to a point at which it waits for one of these locks: its file is being written, its rows are being
    # inserted, its result is being stored.
    other = connection.copy()
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("LOCK TABLE evaluation_reportfile IN ACCESS EXCLUSIVE MODE")
        cursor.execute("LOCK TABLE annotator_judgment IN SHARE MODE")
        cursor.execute("SELECT 1 FROM evaluation_analysisplan FOR UPDATE")
    worker = WorkerProcess(tmp_path, only="worker", DATA_DIR=str(tmp_path))
    worker.command[worker.command.index("--concurrency") + 1] = "3"
    try:
        worker.start()
        wait_until(lambda: blocked() == 3, 300, "three jobs are under way")
        worker.kill()
        other.close()
        names = [("kept study", keeping.pk), ("kept study", bringing.pk), ("plan-job", workspace.pk)]
        # Postgres releases the locks of a killed worker when it notices that its connections are closed.
        wait_until(lambda: len(jobs.locks_free(names)) == 3, 300, "the locks are free")
        assert set(KeptJob.objects.filter(state="running")) == {keeping, bringing}
        assert PlanJob.objects.get(pk=power.pk).state == "running"
        assert AnalysisPlan.objects.get().power is None, "no half result"
        assert Study.objects.get(slug="gone").judgments.count() == judgments, "nothing was removed"
        assert not Study.objects.filter(pk=first.study).exists(), "no half study"
        folder = files / "kept-studies"
        assert [path.suffix for path in folder.iterdir() if path.name != Path(first.file).name] == [
            ".partial"
        ]

        long_ago = timezone.now() - timedelta(hours=1)
        for model in (KeptJob, PlanJob):
            model.objects.filter(state="running").update(started_at=long_ago)
        assert (kept_jobs_sweep(), plan_jobs_sweep()) == (2, 1)
        worker.start()
        ended = KeptJob.objects.filter(state="done")
        wait_until(lambda: ended.count() == 3 and PlanJob.objects.get(pk=power.pk).state == "done", 300)
    finally:
        other.close()
        worker.stop()
    assert AnalysisPlan.objects.get().power == PlanJob.objects.get(pk=power.pk).result
    again = Study.objects.get(slug="back")
    assert (again.pk, again.judgments.count()) == (first.study, judgments)
    assert not Study.objects.filter(slug="gone").exists()
    second = KeptStudy.objects.get(slug="gone")
    assert {path.name for path in folder.iterdir()} == {Path(first.file).name, Path(second.file).name}
    assert not KeptJob.objects.exclude(sealed="", upload="").exists(), "no key stays"
