from __future__ import annotations

import gc
import os
from typing import Any

from celery import Celery
from celery.beat import EmbeddedService
from celery.signals import (
    before_task_publish,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_init,
    worker_ready,
)

from foretell import env
from foretell.log_context import HEADER, job_begin, job_end, request_id

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
# Each worker would otherwise run Django's checks of the code, for which it loads every page.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
app = Celery("foretell")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_django_logging(**_: Any) -> None:
    """Django's LOGGING is already applied. Without this receiver Celery would replace it, and logs would show secrets."""


@before_task_publish.connect
def name_request(headers: dict[str, Any], **_: Any) -> None:
    """A job's message says which request queued it, so that one id finds the lines of both."""
    headers[HEADER] = request_id.get()


@task_prerun.connect
def name_job(task: Any, kwargs: dict[str, Any], **_: Any) -> None:
    """Celery's own lines about the job are logged between these two signals too."""
    job_begin(task.name, kwargs, request=task.request.get(HEADER) or "")


@task_postrun.connect
def forget_job(**_: Any) -> None:
    job_end()


@worker_init.connect
def share_memory(**_: Any) -> None:
    """Keep what is loaded so far out of garbage collection, so that its memory stays shared with the child processes."""
    gc.collect()
    gc.freeze()


@worker_init.connect
def restore_unacknowledged(**_: Any) -> None:
    """A worker of `make run` starts with the tasks that its killed predecessor had taken.

    Tasks of the other worker are delivered a second time as well, which every task allows for. In other installations
    those tasks wait for the visibility timeout.
    """
    if not env.SOLE_WORKER:
        return
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        channel.visibility_timeout = 0
        channel.qos.restore_visible(num=None, interval=1)


@worker_ready.connect
def start_beat(**_: Any) -> None:
    """In `make run` the housekeeping worker also runs Celery beat; elsewhere beat is a process of its own."""
    if env.SOLE_WORKER and env.SHORT_QUEUE in app.amqp.queues.consume_from:
        beat: Any = EmbeddedService(app, thread=True, scheduler_cls="foretell.beat:MemoryScheduler")
        beat.start()
