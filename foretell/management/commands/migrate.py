"""``manage.py migrate``, which creates a new database at once, says what to do about one that is too old, and keeps nobody waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import LockNotAvailable

from foretell import earlier_database
from foretell.new_database import tables_create

#: With one of these options, ``migrate`` doesn't do what it does by default.
OTHERWISE = ("app_label", "plan", "check_unapplied", "fake", "fake_initial", "prune")
#: Whoever submits waits behind a migration that waits for a table: so long at most.
LOCK_MILLISECONDS = 500
#: A backup or an export reads a table for minutes. So often a migration is begun again meanwhile, after so many seconds.
ATTEMPTS, PAUSE_SECONDS = 720, 5


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if problem := earlier_database.problem(MigrationRecorder(connection).applied_migrations()):
            raise CommandError(problem)
        if not any(options[name] for name in OTHERWISE):
            tables_create(connection=connection)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with connection.execute_wrapper(_Patience(connection)):
                    super().handle(*args, **options)
                return
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                if attempt == ATTEMPTS:
                    raise CommandError(
                        "A table was in use all the time, by a backup or an export for example. What was migrated until then stays. "
                        "Run the command again later."
                    ) from error
                if attempt == 1:
                    self.stderr.write("A table is in use. Waiting for it, without holding anybody up.")
                time.sleep(PAUSE_SECONDS)
            finally:
                _limit(connection, 0)


class _Patience:
    """Limits how long each statement of a migration waits for a lock; but for those that hold nobody up while they wait."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection, self.milliseconds = connection, 0

    def __call__(self, execute: Callable[..., Any], sql: Any, *rest: Any) -> Any:
        wanted = 0 if "CONCURRENTLY" in str(sql) else LOCK_MILLISECONDS
        if wanted != self.milliseconds and "lock_timeout" not in str(sql):
            self.milliseconds = wanted
            _limit(self.connection, wanted)
        return execute(sql, *rest)


def _limit(connection: BaseDatabaseWrapper, milliseconds: int) -> None:
    if connection.connection is not None and not connection.needs_rollback:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {milliseconds}")
