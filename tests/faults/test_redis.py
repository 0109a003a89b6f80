"""Redis unavailable, flushed, or delivering a long task twice: nothing is lost and nothing is done twice."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from django.conf import settings as django_settings
from django.utils import timezone

from annotator.models import Judgment
from evaluation.models import Call, Run
from evaluation.runs.lifecycle import run_start
from evaluation.runs.sweep import runs_sweep
from foretell import env
from foretell.embedded import EmbeddedServers
from tests.evaluation.conftest import scripted, scripted_process  # noqa: F401
from tests.evaluation.run_factories import make_endpoint, make_material, make_run
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_study
from tests.faults.http_annotator import Annotator
from tests.processes import WebProcess, WorkerProcess, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault]
#: Several attempts to connect. With 60, every client reaches its longest wait between two of them.
AWAY_SECONDS = float(os.environ.get("REDIS_AWAY_SECONDS", "10"))


@pytest.fixture(autouse=True)
def _allowed(scripted: ScriptedProcess, settings: object, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    settings.LLM_ALLOWED_HOSTS = [scripted.host]  # type: ignore[attr-defined]
    settings.RUN_WAKE_SECONDS = 2  # type: ignore[attr-defined]
    monkeypatch.setenv("LLM_ALLOWED_HOSTS", scripted.host)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[EmbeddedServers]:
    """A Redis that only the processes of this test use."""
    servers = EmbeddedServers(tmp_path / "servers")
    servers.start_redis()
    yield servers
    servers.redis.stop()


class Finished(Exception):
    """The test is over."""


class SlowAnnotator(Annotator):
    """Waits between two requests, and stops when the test is over."""

    finished = False

    def work(self, most: int = 10_000) -> None:
        with suppress(Finished):
            super().work(most)

    def send(self, *arguments: object, **more: object) -> object:  # type: ignore[override]
        time.sleep(0.3)
        if self.finished:
            raise Finished
        return super().send(*arguments, **more)  # type: ignore[arg-type]


def test_redis_is_unavailable_under_load(
    scripted: ScriptedProcess,  # noqa: F811
    own_redis: EmbeddedServers,
    tmp_path: Path,
) -> None:
    url = own_redis.redis.url
    study = make_study(items=400, redundancy=3, launched=True)
    endpoint = make_endpoint(scripted, concurrency=1, timeout_seconds=300)
    run = make_run(endpoint, make_material(40), model="scripted?latency=0.5", started=False)
    web = WebProcess(tmp_path, REDIS_URL=url)
    options = {"RUN_SLICE_SECONDS": "3", "RUN_WAKE_SECONDS": "2", "RUN_SWEEP_SECONDS": "1"}
    worker = WorkerProcess(tmp_path, REDIS_URL=url, SOLE_WORKER="1", WORKER_CONCURRENCY="1", **options)
    people = [SlowAnnotator(web.url, study.join_token, study.slug) for _ in range(3)]
    threads = [threading.Thread(target=person.work, args=(400,), daemon=True) for person in people]
    done = Call.objects.filter(run=run, state="done")
    try:
        web.start()
        worker.start()
        for thread in threads:
            thread.start()
        wait_until(lambda: all(person.acknowledged for person in people), 300, "everybody has answered once")
        scripted.hold(after=4)  # so that the outage begins in the middle of the run
        Run.objects.filter(pk=run.pk).update(state="running")  # not queued: the worker's own beat finds it
        wait_until(lambda: done.count() == 4, 300, "the worker has begun the run")
        own_redis.redis.stop()
        scripted.release()
        before = [len(person.acknowledged) for person in people]
        time.sleep(AWAY_SECONDS)  # the length of the outage; there is nothing to wait for
        during = [len(person.acknowledged) - n for person, n in zip(people, before, strict=True)]
        assert done.count() < 40, "the run ended during the outage"
        own_redis.start_redis()
        wait_until(lambda: done.count() == 40, 300, "the worker reconnects by itself")
    finally:
        for person in people:
            person.finished = True
        for thread in threads:
            if thread.ident:
                thread.join(120)
        web.stop()
        worker.stop()
    assert min(during) > 0, "everybody could submit answers during the outage"
    assert sum(person.resent for person in people) == 0, "no request timed out"
    assert not [code for person in people for code in person.statuses if code >= 500]
    acknowledged = {pk for person in people for pk in person.acknowledged}
    assert acknowledged <= set(Judgment.objects.filter(study=study).values_list("assignment_id", flat=True))
    # A worker that loses Redis stops its task: each time at most its one call in flight is sent again.
    assert scripted.stats()["requests"] <= 40 + Run.objects.get(pk=run.pk).lost_calls


def test_redis_is_flushed_with_a_thousand_jobs_queued(
    scripted: ScriptedProcess,  # noqa: F811
    tmp_path: Path,
    settings: object,
) -> None:
    broker = redis.Redis.from_url(django_settings.CELERY_BROKER_URL)
    broker.flushdb()
    endpoint = make_endpoint(scripted, concurrency=64)
    runs = [make_run(endpoint, make_material(5), workers=25, use_cache=False) for _ in range(40)]
    assert broker.llen(env.LONG_QUEUE) == 1000
    broker.flushdb()
    unfinished = Run.objects.filter(pk__in=[run.pk for run in runs]).exclude(state="done")
    # Sent so long ago that the next sweep sends them again, and only that one: a slow machine would otherwise be busy
    # with a thousand more messages every few seconds.
    unfinished.update(woken_at=timezone.now() - timedelta(hours=1))
    worker = WorkerProcess(
        tmp_path, WORKER_CONCURRENCY="2", SOLE_WORKER="1", RUN_SWEEP_SECONDS="5", RUN_WAKE_SECONDS="1800"
    )
    worker.start()
    try:
        wait_until(lambda: not unfinished.exists(), 1200, "all runs are done")
    finally:
        worker.stop()
    assert Judgment.objects.count() == 200
    assert scripted.stats()["requests"] == 200


def test_a_task_longer_than_the_visibility_timeout_has_one_effect(
    scripted: ScriptedProcess,  # noqa: F811
    tmp_path: Path,
) -> None:
    redis.Redis.from_url(django_settings.CELERY_BROKER_URL).flushdb()
    endpoint = make_endpoint(scripted, concurrency=1, timeout_seconds=900)
    run = make_run(endpoint, make_material(12), started=False)
    worker = WorkerProcess(
        tmp_path, WORKER_CONCURRENCY="2", TASK_VISIBILITY_SECONDS="2", RUN_SLICE_SECONDS="900"
    )
    worker.start()
    scripted.hold(after=6)  # the task lasts until it has been delivered again
    try:
        run_start(run=run)
        wait_until(
            lambda: "'busy'" in worker.text(), 300, "the task is delivered again and finds the lock taken"
        )
        scripted.release()
        wait_until(lambda: Run.objects.get(pk=run.pk).state == "done", 300, "the run is done")
    finally:
        worker.stop()
    assert runs_sweep() == 0
    assert (scripted.stats()["requests"], scripted.stats()["paid_again"]) == (12, 0)
    assert Judgment.objects.count() == 12
    assert Run.objects.get(pk=run.pk).lost_calls == 0
