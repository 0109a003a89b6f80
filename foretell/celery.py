from __future__ import annotations

import gc
import os
from typing import Any

from celery import Celery
from celery.beat import EmbeddedService
from celery.signals import setup_logging, worker_init, worker_ready
from kombu.transport import redis as transport

from foretell import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
app = Celery("foretell")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def closed_is_a_connection_error() -> None:
    """A broker that goes away while a task runs must not end the worker.

    The worker then closes its channel, which hands back what is not acknowledged over a connection that is gone by
    now: kombu answers with an ``AttributeError``, which nobody expects there. As a connection error it is passed
    over; the worker connects again and the sweepers find what was not handed back.
    """
    parameters = transport.Channel._connparams  # type: ignore[attr-defined]

    def connparams(self: Any, *arguments: Any, **more: Any) -> Any:
        if self.connection.client is None:
            raise ConnectionError("the connection to the broker is closed")
        return parameters(self, *arguments, **more)

    transport.Channel._connparams = connparams  # type: ignore[attr-defined]


closed_is_a_connection_error()


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """Django's LOGGING has been applied already; without this Celery replaces it, secrets shown."""


@worker_init.connect
def share_memory(**_: Any) -> None:
    """What is loaded by now stays shared with the children: the collector would copy it by touching it."""
    gc.collect()
    gc.freeze()


@worker_init.connect
def take_over(**_: Any) -> None:
    """A worker of `make run` begins with the tasks that its killed predecessor held.

    Its neighbour's tasks are handed out a second time as well, which every task allows for. Elsewhere a vanished
    worker's tasks wait for the visibility timeout.
    """
    if not env.SOLE_WORKER:
        return
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        channel.visibility_timeout = 0
        channel.qos.restore_visible(num=None, interval=1)


@worker_ready.connect
def keep_the_clock(**_: Any) -> None:
    """In `make run` the housekeeping worker is its own beat; elsewhere beat is a process of its own."""
    if env.SOLE_WORKER and env.SHORT_QUEUE in app.amqp.queues.consume_from:
        beat: Any = EmbeddedService(app, thread=True, scheduler_cls="celery.beat.Scheduler")
        beat.start()
