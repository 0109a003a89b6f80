"""Metrics of the installation in Prometheus' text format, read from Postgres and Redis at each request.

They describe the installation, not one web process, so any process gives the same values. A part that can't be read is left
out, and ``foretell_database_up`` or ``foretell_redis_up`` is 0. ``docs/grafana.json`` is a Grafana board for them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import redis
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Max, Min
from django.utils import timezone

from foretell import env

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
QUEUES = (env.SHORT_QUEUE, env.LONG_QUEUE)
#: Jobs that are rows with a state: metric label -> (model, states that wait for a worker).
JOBS = {
    "runs": ("evaluation.Run", ("queued", "running")),
    "reports": ("evaluation.Report", ("queued", "running")),
    "pipelines": ("evaluation.Pipeline", ("running",)),
    "exports": ("annotator.Export", ("queued",)),
}


@dataclass
class Metric:
    """One gauge: values by label, e.g. ``{'job="runs"': 3.0}``; an empty label for a single value."""

    name: str
    about: str
    values: dict[str, float] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        if self.values:
            yield f"# HELP foretell_{self.name} {self.about}"
            yield f"# TYPE foretell_{self.name} gauge"
        for label, value in self.values.items():
            yield f"foretell_{self.name}{f'{{{label}}}' if label else ''} {value:g}"


def metrics_text() -> str:
    return "\n".join(line for metric in metrics() for line in metric.lines()) + "\n"


def metrics() -> list[Metric]:
    up = Metric("database_up", "Whether Postgres responds.", {"": 1.0})
    found: list[Metric] = []
    try:
        found = [*database_metrics(), *job_metrics(), *lease_metrics()]
    except DatabaseError:
        connection.close()
        up.values[""] = 0.0
    return [up, *found, *redis_metrics(), *disk_metrics()]


def database_metrics() -> list[Metric]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        size = cursor.fetchone()[0]
        cursor.execute(
            "SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity"
            " WHERE backend_type = 'client backend'"
        )
        used, most = cursor.fetchone()
        # Exact counts of large tables are slow; the statistics are close enough to see growth.
        cursor.execute(
            "SELECT relname, n_live_tup FROM pg_stat_user_tables WHERE relname IN"
            " ('annotator_judgment', 'annotator_item', 'annotator_participation', 'evaluation_call')"
        )
        rows = {f'table="{name}"': float(count) for name, count in cursor.fetchall()}
    return [
        Metric("database_bytes", "Size of the database.", {"": float(size)}),
        Metric("database_connections", "Connections to Postgres.", {"": float(used)}),
        Metric("database_connections_limit", "max_connections of Postgres.", {"": float(most)}),
        Metric("table_rows", "Rows of the tables that grow, by Postgres' statistics.", rows),
    ]


def job_metrics() -> list[Metric]:
    count = Metric("jobs", "Jobs by kind and state.")
    oldest = Metric("job_oldest_seconds", "Age of the oldest job that isn't finished.")
    now = timezone.now()
    for kind, (name, waiting) in JOBS.items():
        model = apps.get_model(name)
        for state, number in (
            model._default_manager.values_list("state").annotate(Count("pk")).order_by("state")
        ):
            count.values[f'job="{kind}",state="{state}"'] = float(number)
        first = model._default_manager.filter(state__in=waiting).aggregate(at=Min("created_at"))["at"]
        oldest.values[f'job="{kind}"'] = (now - first).total_seconds() if first else 0.0
    return [count, oldest]


def lease_metrics() -> list[Metric]:
    """Leases, and how late the periodic tasks are: an expired lease waits for the next one."""
    assignments = apps.get_model("annotator.Assignment")._default_manager.filter(state="leased")
    now = timezone.now()
    first = assignments.aggregate(at=Min("lease_until"))["at"]
    late = max((now - first).total_seconds(), 0.0) if first else 0.0
    latest = apps.get_model("annotator.Judgment")._default_manager.aggregate(at=Max("pk"))["at"]
    return [
        Metric("leases", "Tasks that annotators have in hand.", {"": float(assignments.count())}),
        Metric(
            "lease_overdue_seconds",
            "How late the periodic tasks are: age of the oldest expired lease.",
            {"": late},
        ),
        Metric(
            "judgments_total",
            "Largest id of a judgment: grows with every judgment.",
            {"": float(latest or 0)},
        ),
    ]


def redis_metrics() -> list[Metric]:
    up = Metric("redis_up", "Whether Redis responds.", {"": 0.0})
    try:
        with redis.Redis.from_url(
            settings.CELERY_BROKER_URL, socket_connect_timeout=1, socket_timeout=1
        ) as client:
            queue = {f'queue="{name}"': float(client.llen(name)) for name in QUEUES}
    except redis.RedisError:
        return [up]
    up.values[""] = 1.0
    return [up, Metric("queue_messages", "Messages that wait for a worker.", queue)]


def disk_metrics() -> list[Metric]:
    usage = shutil.disk_usage(env.DATA_DIR if env.DATA_DIR.exists() else env.ROOT)
    return [
        Metric("disk_free_bytes", "Free space where files are stored.", {"": float(usage.free)}),
        Metric("disk_bytes", "Size of the disk where files are stored.", {"": float(usage.total)}),
    ]
