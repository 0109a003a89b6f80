"""Metrics of the installation in Prometheus' text format, read from Postgres and Redis at each request.

They describe the installation, not one web process, so any process gives the same values. A part that can't be read is left
out, and ``foretell_database_up`` or ``foretell_redis_up`` is 0. ``docs/grafana.json`` is a Grafana board for them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import redis
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Max, Min
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from foretell import env

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
QUEUES = (env.SHORT_QUEUE, env.LONG_QUEUE)
#: Jobs that are rows with a state: metric label -> (model, states that wait for a worker).
JOBS = {
    "runs": ("evaluation.Run", ("queued", "running")),
    "reports": ("evaluation.Report", ("queued", "running")),
    "pipelines": ("evaluation.Pipeline", ("running",)),
    "exports": ("annotator.Export", ("queued",)),
}


def metrics_text() -> bytes:
    registry = CollectorRegistry()
    registry.register(Installation())
    return generate_latest(registry)


class Installation(Collector):
    def describe(self) -> list[Metric]:
        return []  # otherwise every value would be read twice, once to learn the names

    def collect(self) -> Iterator[Metric]:
        up = 1.0
        try:
            yield from [*database_metrics(), *job_metrics(), *lease_metrics()]
        except DatabaseError:
            connection.close()
            up = 0.0
        yield gauge("database_up", "Whether Postgres responds.", up)
        yield from redis_metrics()
        yield from disk_metrics()


def gauge(
    name: str, about: str, value: float | None = None, labels: tuple[str, ...] = ()
) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"foretell_{name}", about, value=value, labels=labels or None)


def database_metrics() -> Iterator[Metric]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        yield gauge("database_bytes", "Size of the database.", cursor.fetchone()[0])
        cursor.execute(
            "SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity"
            " WHERE backend_type = 'client backend'"
        )
        used, most = cursor.fetchone()
        yield gauge("database_connections", "Connections to Postgres.", used)
        yield gauge("database_connections_limit", "max_connections of Postgres.", most)
        # Exact counts of large tables are slow; the statistics are close enough to see growth.
        cursor.execute(
            "SELECT relname, n_live_tup FROM pg_stat_user_tables WHERE relname IN"
            " ('annotator_judgment', 'annotator_item', 'annotator_participation', 'evaluation_call')"
        )
        rows = gauge(
            "table_rows", "Rows of the tables that grow, by Postgres' statistics.", labels=("table",)
        )
        for name, count in cursor.fetchall():
            rows.add_metric([name], count)
        yield rows


def job_metrics() -> Iterator[Metric]:
    jobs = gauge("jobs", "Jobs by kind and state.", labels=("job", "state"))
    oldest = gauge("job_oldest_seconds", "Age of the oldest job that isn't finished.", labels=("job",))
    for kind, (name, _) in JOBS.items():
        states = apps.get_model(name)._default_manager.values_list("state").annotate(Count("pk"))
        for state, number in states.order_by("state"):
            jobs.add_metric([kind, state], number)
    for kind, seconds in oldest_jobs().items():
        oldest.add_metric([kind], seconds)
    yield jobs
    yield oldest


def oldest_jobs() -> dict[str, float]:
    """Kind of job -> the age in seconds of the oldest that waits for a worker; 0 if none does."""
    now, ages = timezone.now(), {}
    for kind, (name, waiting) in JOBS.items():
        jobs = apps.get_model(name)._default_manager.filter(state__in=waiting)
        first = jobs.aggregate(at=Min("created_at"))["at"]
        ages[kind] = (now - first).total_seconds() if first else 0.0
    return ages


def lease_overdue_seconds() -> float:
    """How late the periodic tasks are: an expired lease waits for the next one."""
    leases = apps.get_model("annotator.Assignment")._default_manager.filter(state="leased")
    first = leases.aggregate(at=Min("lease_until"))["at"]
    return max((timezone.now() - first).total_seconds(), 0.0) if first else 0.0


def lease_metrics() -> Iterator[Metric]:
    leases = apps.get_model("annotator.Assignment")._default_manager.filter(state="leased")
    latest = apps.get_model("annotator.Judgment")._default_manager.aggregate(at=Max("pk"))["at"]
    yield gauge("leases", "Tasks that annotators have in hand.", leases.count())
    about = "How late the periodic tasks are: age of the oldest expired lease."
    yield gauge("lease_overdue_seconds", about, lease_overdue_seconds())
    yield gauge("judgments_total", "Largest id of a judgment: grows with every judgment.", latest or 0)


def redis_metrics() -> Iterator[Metric]:
    queues = gauge("queue_messages", "Messages that wait for a worker.", labels=("queue",))
    up = 1.0
    try:
        with redis.Redis.from_url(
            settings.CELERY_BROKER_URL, socket_connect_timeout=1, socket_timeout=1
        ) as client:
            for name in QUEUES:
                queues.add_metric([name], client.llen(name))
        yield queues
    except redis.RedisError:
        up = 0.0
    yield gauge("redis_up", "Whether Redis responds.", up)


def disk_metrics() -> Iterator[Metric]:
    usage = shutil.disk_usage(env.DATA_DIR if env.DATA_DIR.exists() else env.ROOT)
    yield gauge("disk_free_bytes", "Free space where files are stored.", usage.free)
    yield gauge("disk_bytes", "Size of the disk where files are stored.", usage.total)
