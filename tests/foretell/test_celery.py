from __future__ import annotations

import re

import pytest
from django.conf import settings

from foretell import env
from foretell.celery import app


def test_every_scheduled_task_exists() -> None:
    app.loader.import_default_modules()
    assert settings.CELERY_BEAT_SCHEDULE
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        assert entry["task"] in app.tasks, name
        assert float(entry["schedule"]) > 0  # type: ignore[arg-type]


def test_every_task_that_is_queued_by_name_exists() -> None:
    app.loader.import_default_modules()
    queued: dict[str, str] = {}
    for path in [*env.ROOT.glob("annotator/**/*.py"), *env.ROOT.glob("evaluation/**/*.py")]:
        for name in re.findall(r'enqueue\(\s*"([^"]+)"', path.read_text(encoding="utf-8")):
            queued[name] = path.name
    assert len(queued) >= 4
    assert set(queued) <= set(app.tasks)


def test_a_task_returns_to_the_queue_when_its_worker_is_lost() -> None:
    assert app.conf.task_acks_late is True
    assert app.conf.task_reject_on_worker_lost is True
    assert app.conf.accept_content == ["json"]
    options = app.conf.broker_transport_options
    assert (options["unacked_restore_interval"], options["unacked_restore_throttle"]) == (1, 1)


def test_sending_a_task_without_redis_fails_after_a_few_attempts() -> None:
    from kombu.exceptions import OperationalError

    policy = app.conf.task_publish_retry_policy
    assert policy["max_retries"] * policy["interval_max"] < 5, "seconds of pauses between the attempts"
    with app.connection_for_write("redis://127.0.0.1:1/0") as connection, pytest.raises(OperationalError):
        app.send_task("celery.backend_cleanup", connection=connection)
