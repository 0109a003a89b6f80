"""The job that computes a report: run once, run twice, killed midway, failed, lost."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.utils import timezone

from evaluation.models import Report
from evaluation.reports import compute as computing
from evaluation.services.report import report_compute, report_create, reports_sweep
from evaluation.tasks.reports import report_build
from tests.evaluation.reports.studies import small_study, stored


@pytest.mark.django_db
def test_computing_a_report_twice_changes_nothing():
    report = stored(small_study())
    before = Report.objects.values().get(pk=report.pk)
    files = list(report.files.values_list("pk", flat=True))
    assert report_build(report_pk=report.pk) is False
    assert Report.objects.values().get(pk=report.pk) == before
    assert list(report.files.values_list("pk", flat=True)) == files


@pytest.mark.django_db
def test_a_report_whose_worker_was_killed_is_computed_again(monkeypatch):
    report = report_create(study=small_study(), choices={"replicates": 0})

    class Killed(BaseException):
        """Like SIGKILL, it is caught by no handler."""

    def dies(**_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(computing, "compute", dies)
        with pytest.raises(Killed):
            report_compute(report_pk=report.pk)
    report.refresh_from_db()
    assert report.state == "running"
    assert report_compute(report_pk=report.pk)
    report.refresh_from_db()
    assert (report.state, report.progress) == ("done", "")
    assert report.content


@pytest.mark.django_db
def test_a_failure_is_kept_with_its_reason(monkeypatch):
    report = report_create(study=small_study())
    monkeypatch.setattr(computing, "compute", lambda **_: 1 / 0)
    assert report_compute(report_pk=report.pk)
    report.refresh_from_db()
    assert (report.state, report.error) == ("failed", "division by zero")
    assert report_compute(report_pk=report.pk) is False  # a failed report is not retried automatically


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_compute_one_report(monkeypatch, queued_reports):
    report = report_create(study=small_study(), choices={"replicates": 0})
    begun, go_on, runs = threading.Event(), threading.Event(), []
    whole = computing.compute

    def slow(**kwargs):
        runs.append(1)
        begun.set()
        assert go_on.wait(300)
        return whole(**kwargs)

    monkeypatch.setattr(computing, "compute", slow)

    def work() -> None:
        try:
            report_compute(report_pk=report.pk)
        finally:
            connections.close_all()

    first = threading.Thread(target=work)
    first.start()
    assert begun.wait(300)
    assert report_compute(report_pk=report.pk) is False
    go_on.set()
    first.join(300)
    report.refresh_from_db()
    assert (report.state, len(runs)) == ("done", 1)


@pytest.mark.django_db
def test_the_sweeper_queues_reports_that_were_lost(queued_reports):
    study = small_study()
    fresh, queued, running, done = (report_create(study=study) for _ in range(4))
    long_ago = timezone.now() - timedelta(hours=1)
    Report.objects.filter(pk=queued.pk).update(created_at=long_ago)
    Report.objects.filter(pk=running.pk).update(state="running", started_at=long_ago)
    report_compute(report_pk=done.pk)
    Report.objects.filter(pk=done.pk).update(created_at=long_ago)
    assert reports_sweep() == 2
    assert sorted(queued_reports) == sorted([queued.pk, running.pk])
    assert fresh.pk not in queued_reports


@pytest.mark.django_db
def test_without_redis_a_requested_report_waits(monkeypatch, django_capture_on_commit_callbacks):
    def unavailable(*_: object, **__: object) -> None:
        raise OSError("no Redis")

    monkeypatch.setattr("celery.app.base.Celery.send_task", unavailable)
    with django_capture_on_commit_callbacks(execute=True):
        report = report_create(study=small_study())
    report.refresh_from_db()
    assert report.state == "queued"


@pytest.mark.django_db
def test_the_database_refuses_a_done_report_without_content():
    from django.db import IntegrityError, transaction

    report = report_create(study=small_study())
    with pytest.raises(IntegrityError), transaction.atomic():
        Report.objects.filter(pk=report.pk).update(state="done")
    with pytest.raises(IntegrityError), transaction.atomic():
        Report.objects.filter(pk=report.pk).update(state="failed")
    assert connection.is_usable()
