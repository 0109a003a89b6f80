"""Web and worker processes that are killed."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import psutil
import pytest
import redis
from django.conf import settings

from foretell.celery import app, restore_unacknowledged
from tests.processes import WebProcess, WorkerProcess, wait_until

pytestmark = pytest.mark.fault


def test_a_killed_web_process_starts_again(web_process: WebProcess) -> None:
    assert urllib.request.urlopen(f"{web_process.url}/healthz").status == 200
    web_process.kill()
    with pytest.raises(OSError, match=r"refused|reset"):
        urllib.request.urlopen(f"{web_process.url}/healthz")
    web_process.start()
    assert urllib.request.urlopen(f"{web_process.url}/healthz").status == 200


def test_a_worker_takes_tasks_that_were_sent_while_it_was_down(worker_process: WorkerProcess) -> None:
    worker_process.kill()
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    broker.flushdb()  # what its own timetable has sent in its last moment
    app.send_task("celery.backend_cleanup")
    assert broker.llen("celery") == 1
    worker_process.start()
    wait_until(lambda: broker.llen("celery") == 0, 300, "the worker takes the task")


def test_a_process_of_a_test_has_the_options_that_its_settings_name(tmp_path: Path) -> None:
    worker = WorkerProcess(tmp_path, WORKER_CONCURRENCY="3")
    worker.start()
    try:
        pool = psutil.Process(worker.child.pid).children() if worker.child else []
        assert len(pool) == 3
    finally:
        worker.stop()
    command = WebProcess(tmp_path, WEB_WORKERS="7", WEB_THREADS="5").command
    assert (command[command.index("--workers") + 1], command[command.index("--blocking-threads") + 1]) == (
        "7",
        "5",
    )


@pytest.mark.parametrize("sole", [True, False])
def test_only_a_sole_worker_takes_over_the_tasks_of_a_dead_one(
    sole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    broker.flushdb()
    with app.connection_for_write() as connection:
        app.send_task("celery.backend_cleanup", connection=connection)
        channel = connection.channel()
        assert channel.basic_get("celery") is not None  # taken and never acknowledged
        channel.qos._dirty.clear()
        channel.qos._delivered.clear()  # a killed process returns nothing to the queue
        assert (broker.llen("celery"), broker.hlen("unacked")) == (0, 1)
        monkeypatch.setattr("foretell.env.SOLE_WORKER", sole)
        restore_unacknowledged()
        assert (broker.llen("celery"), broker.hlen("unacked")) == ((1, 0) if sole else (0, 1))
    broker.flushdb()
