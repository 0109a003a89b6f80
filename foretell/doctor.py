"""Examine an installation: settings, servers, migrations, queues, disk, clock and mail. Read by ``manage.py doctor``."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import django
import redis
from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.mail import get_connection
from django.db import DatabaseError, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.utils.module_loading import import_string
from kombu.exceptions import KombuError

from annotator.core.words import plural
from foretell import earlier_database, env, unfinished_restore
from foretell.celery import app
from foretell.metrics import QUEUES, lease_overdue_seconds, oldest_jobs

POSTGRES_AT_LEAST = 14
FREE_AT_LEAST = 0.1
LATE_SECONDS = 120
CLOCK_SECONDS = 5
QUEUE_MOST = 1_000
MEMORY_MOST = 0.8
#: A database this many times as large as Postgres's own memory for pages reads from the disk more than it must.
DATABASE_TO_MEMORY = 16


@dataclass(frozen=True)
class Finding:
    """The result of one check. ``level`` is ok, warning or error; ``advice`` says what to do."""

    name: str
    level: str
    about: str
    advice: str = ""


def ok(name: str, about: str) -> Finding:
    return Finding(name, "ok", about)


def examine(*, mail: bool = False) -> Iterator[Finding]:
    """Run every check. A check that fails unexpectedly is an error itself and doesn't stop the others.

    Args:
        mail: log in to the mail server (nothing is sent).
    """
    for check in (check_settings, check_restore, check_postgres, check_replica, check_migrations, check_providers, check_redis, check_workers, check_jobs,
                  check_disk, check_storage, check_clock):  # fmt: skip
        yield from _guarded(check)
    if mail:
        yield from _guarded(check_mail)


def _guarded(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    name = check.__name__.removeprefix("check_")
    try:
        yield from check()
    except (DatabaseError, redis.RedisError, KombuError, OSError) as error:
        if isinstance(error, DatabaseError):
            connection.close()
        yield Finding(
            name, "error", f"{type(error).__name__}: {error}".strip(), "See the lines above, and the logs."
        )


def check_settings() -> Iterator[Finding]:
    yield ok("versions", f"Python {platform.python_version()}, Django {django.get_version()}")
    if not env.PRODUCTION:
        yield Finding(
            "settings", "warning", "Production settings are off.",
            "Set FORETELL_PRODUCTION=1 before real people take part.",
        )  # fmt: skip
    messages = [
        message
        for message in checks.run_checks(include_deployment_checks=env.PRODUCTION)
        if not message.is_silenced()
    ]
    for message in messages:
        level = "error" if message.level >= checks.ERROR else "warning"
        yield Finding("settings", level, message.msg, message.hint or "")
    if not messages and env.PRODUCTION:
        yield ok("settings", "complete")


def check_restore() -> Iterator[Finding]:
    if problem := unfinished_restore.problem():
        what, _, advice = problem.partition(": ")
        yield Finding("restore", "error", f"{what}.", f"{advice[0].upper()}{advice[1:]}")


def check_postgres() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int, current_setting('server_version')")
        number, version = cursor.fetchone()
        cursor.execute(
            "SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity"
            " WHERE backend_type = 'client backend'"
        )
        used, most = cursor.fetchone()
    if number < POSTGRES_AT_LEAST * 10_000:
        yield Finding(
            "postgres", "error", f"Postgres {version}", f"Upgrade to Postgres {POSTGRES_AT_LEAST} or later."
        )
    else:
        yield ok("postgres", f"Postgres {version}, {used} of {most} connections used")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setting::bigint * 8192, pg_database_size(current_database())"
            " FROM pg_settings WHERE name = 'shared_buffers'"
        )
        kept, size = cursor.fetchone()
    if words := memory_words(kept=kept, size=size):
        yield Finding(
            "postgres", "warning", words,
            "Set shared_buffers to a quarter of the memory of Postgres's machine (in Compose POSTGRES_SHARED_BUFFERS), and restart it.",
        )  # fmt: skip
    if used > 0.8 * most:
        yield Finding(
            "postgres", "warning", f"{used} of {most} connections are used.",
            "Raise max_connections, or lower WEB_WORKERS, WEB_THREADS or the number of containers.",
        )  # fmt: skip


def memory_words(*, kept: int, size: int) -> str:
    """What is wrong with the memory that Postgres keeps pages in, if the database is too large for it; both in bytes.

    >>> memory_words(kept=128 * 2**20, size=6 * 2**30)
    'The database has 6.4 GB, and Postgres keeps 134 MB of it in its own memory.'
    >>> memory_words(kept=512 * 2**20, size=6 * 2**30), memory_words(kept=128 * 2**20, size=2**29)
    ('', '')
    """
    if size <= DATABASE_TO_MEMORY * kept:
        return ""
    return f"The database has {size / 1e9:.1f} GB, and Postgres keeps {kept / 1e6:.0f} MB of it in its own memory."


def check_replica() -> Iterator[Finding]:
    """Whether the replica, if there is one, follows this database, and how far behind it is."""
    if "replica" not in settings.DATABASES:
        return
    try:
        with connections["replica"].cursor() as cursor:
            cursor.execute(
                "SELECT pg_is_in_recovery(), (SELECT system_identifier FROM pg_control_system()),"
                " coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 0)::float,"
                " pg_last_wal_receive_lsn() IS NOT DISTINCT FROM pg_last_wal_replay_lsn()"
            )
            follows, system, seconds, applied = cursor.fetchone()
    except DatabaseError as error:
        connections["replica"].close()
        yield Finding("replica", "warning", f"The replica doesn't answer: {error}".strip(),
                      "Reports, exports and live pages read the primary meanwhile. Start the replica, or empty DATABASE_REPLICA_URL.")  # fmt: skip
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT system_identifier FROM pg_control_system()")
        (own,) = cursor.fetchone()
    if not follows or system != own:
        wrong = "is a copy of another database" if system != own else "follows no server"
        yield Finding("replica", "error", f"The server of DATABASE_REPLICA_URL {wrong}.",
                      "Make it with pg_basebackup from the server of DATABASE_URL. It's not read meanwhile if it follows no server.")  # fmt: skip
    elif seconds > LATE_SECONDS and not applied:
        yield Finding("replica", "warning", f"The replica is {seconds:.0f} s behind.",
                      "Reports and live pages read the primary until it has caught up. Look at its disk and its network.")  # fmt: skip
    else:
        yield ok("replica", "follows the primary")


def check_migrations() -> Iterator[Finding]:
    if problem := earlier_database.problem(MigrationRecorder(connection).applied_migrations()):
        yield Finding("migrations", "error", "The tables are older than this version can upgrade.", problem)
        return
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _ in plan[:5])
        yield Finding("migrations", "error", f"{len(plan)} not applied: {names}", "Run manage.py migrate.")
    else:
        yield ok("migrations", "all applied")


def check_providers() -> Iterator[Finding]:
    installed = import_string("evaluation.providers.registry.PROVIDERS").names()
    yield ok("providers", ", ".join(installed))
    for endpoint in apps.get_model("evaluation", "Endpoint").objects.exclude(protocol__in=installed):
        yield Finding(
            "providers", "warning", f"The endpoint {endpoint} uses {endpoint.protocol!r}, which isn't installed.",
            "Install its package, or choose another protocol for the endpoint.",
        )  # fmt: skip


def check_redis() -> Iterator[Finding]:
    with redis.Redis.from_url(
        settings.CELERY_BROKER_URL, socket_connect_timeout=2, socket_timeout=2
    ) as client:
        version = client.info("server")["redis_version"]
        waiting = sum(int(client.llen(name)) for name in QUEUES)
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "")
        memory = client.info("memory")
    yield ok("redis", f"Redis {version}, {plural(waiting, 'message')} waiting")
    if waiting > QUEUE_MOST:
        yield Finding("redis", "warning", f"{plural(waiting, 'message')} waiting.", "Start more workers.")
    if policy not in ("noeviction", ""):
        yield Finding(
            "redis",
            "warning",
            f"maxmemory-policy is {policy}, which can delete queued jobs.",
            "Set it to noeviction.",
        )
    if (limit := int(memory.get("maxmemory", 0))) and memory["used_memory"] > MEMORY_MOST * limit:
        yield Finding(
            "redis", "warning", f"{memory['used_memory'] / 1e6:.0f} of {limit / 1e6:.0f} MB of memory are used.",
            "Raise maxmemory: when it's full, no job is queued until a sweeper finds it.",
        )  # fmt: skip


def check_workers() -> Iterator[Finding]:
    # A connection of its own: one from the pool may have been lost since it was used.
    with app.connection_for_write() as broker:
        replies = app.control.ping(timeout=2.0, connection=broker) or []
    names = sorted(name for reply in replies for name in reply)
    for kind, does in (
        ("worker", "runs, reports and exports"),
        ("housekeeping", "expired leases and other periodic tasks"),
    ):
        responding = [name for name in names if name.startswith(f"{kind}@")]
        if responding:
            yield ok("workers", f"{len(responding)} {kind} respond: {', '.join(responding)}")
        else:
            yield Finding(
                "workers", "error", f"No {kind} process responds.",
                f"Start one: python -m foretell.serve {kind}. Until then {does} wait.",
            )  # fmt: skip


def check_jobs() -> Iterator[Finding]:
    late = lease_overdue_seconds()
    if late > LATE_SECONDS:
        yield Finding(
            "beat", "error", f"Leases that expired {late:.0f} s ago aren't cleared.",
            "Start exactly one beat (python -m foretell.serve beat) and a worker.",
        )  # fmt: skip
    else:
        yield ok("beat", f"periodic tasks at most {late:.0f} s late")
    waiting = [f"{kind} {seconds / 60:.0f} min" for kind, seconds in oldest_jobs().items() if seconds]
    yield ok("jobs", f"oldest unfinished: {', '.join(waiting)}" if waiting else "none waiting")


def check_disk() -> Iterator[Finding]:
    place = env.DATA_DIR if env.DATA_DIR.exists() else env.ROOT
    usage = shutil.disk_usage(place)
    about = f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB free at {place}"
    if usage.free < FREE_AT_LEAST * usage.total:
        yield Finding(
            "disk", "warning", about, "Free space or enlarge the disk: a full disk refuses answers."
        )
    else:
        yield ok("disk", about)


def check_storage() -> Iterator[Finding]:
    """Whether this process can write and delete files, as exports and uploads do."""
    name = default_storage.save("doctor/check", ContentFile(b"check"))
    default_storage.delete(name)
    yield ok("files", "can be written")


def check_clock() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        before = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        theirs = float(cursor.fetchone()[0])
        apart = abs(theirs - (before + time.time()) / 2)
    if apart > CLOCK_SECONDS:
        yield Finding(
            "clock", "error", f"The clocks of this machine and of Postgres differ by {apart:.1f} s.",
            "Set both by NTP: leases and sessions depend on the time.",
        )  # fmt: skip
    else:
        yield ok("clock", f"within {max(apart, 0.1):.1f} s of Postgres'")


def check_mail() -> Iterator[Finding]:
    backend = settings.EMAIL_BACKEND.rpartition(".")[0].rpartition(".")[2]
    if backend != "smtp":
        yield Finding("mail", "warning", f"The mail backend is {backend}: no mail is sent.", "Set EMAIL_URL.")
        return
    mail = get_connection(fail_silently=False)
    try:
        mail.open()
    except OSError as error:  # smtplib's errors are OSErrors too
        yield Finding("mail", "error", f"{settings.EMAIL_HOST}: {error}", "Check EMAIL_URL.")
        return
    mail.close()
    yield ok("mail", f"logged in to {settings.EMAIL_HOST}")
