"""One lab's many jobs don't keep another lab waiting, in a real worker with a real queue."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import redis
from django.conf import settings as django_settings
from django.utils import timezone

from annotator.models import Export, Workspace
from annotator.services.exports import export_request
from tests.factories import make_study, make_user
from tests.processes import WorkerProcess, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault]


def test_an_export_does_not_wait_for_another_labs_forty(tmp_path: Path) -> None:
    redis.Redis.from_url(django_settings.CELERY_BROKER_URL).flushdb()
    rosa, otto = make_user("rosa", staff=True), make_user("otto", staff=True)
    busy = make_study(by=rosa, slug="busy", items=1)
    quiet = make_study(by=otto, slug="quiet", items=1)
    Workspace.objects.update(last_turn_at=timezone.now() - timedelta(hours=1))
    many = [export_request(study=busy, by=rosa) for _ in range(40)]
    one = export_request(study=quiet, by=otto)
    worker = WorkerProcess(tmp_path, only="worker", WORKER_CONCURRENCY="1", DATA_DIR=str(tmp_path))
    try:
        worker.start()
        done = Export.objects.filter(state=Export.State.DONE)
        wait_until(lambda: done.count() == 41, 300, "all exports")
    finally:
        worker.stop()
    order = list(done.order_by("finished_at").values_list("pk", flat=True))
    assert order.index(one.pk) <= 2
    assert {export.pk for export in many} < set(order)
