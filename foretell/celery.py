from __future__ import annotations

import gc
import os
from typing import Any

from celery import Celery
from celery.beat import EmbeddedService
from celery.signals import setup_logging, worker_init, worker_ready

from foretell import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
app = Celery("foretell")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_django_logging(**_: Any) -> None:
    """Django's LOGGING is already applied. Without this receiver Celery would replace it, and logs would show secrets."""


@worker_init.connect
def share_memory(**_: Any) -> None:
    """Keep what is loaded so far out of garbage collection, so that its memory stays shared with the child processes."""
    gc.collect()
    gc.freeze()


@worker_init.connect
def restore_unacknowledged(**_: Any) -> None:
    """The only worker of `make run` starts with the tasks that its killed predecessor had taken.

    In other installations those tasks wait for the visibility timeout, since another worker may hold them.
    """
    if not env.SOLE_WORKER:
        return
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        channel.visibility_timeout = 0
        channel.qos.restore_visible(num=None, interval=1)


@worker_ready.connect
def start_beat(**_: Any) -> None:
    """The only worker of `make run` also runs Celery beat; in other installations beat is a process of its own."""
    if env.SOLE_WORKER:
        beat: Any = EmbeddedService(app, thread=True, scheduler_cls="celery.beat.Scheduler")
        beat.start()
