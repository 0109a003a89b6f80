"""``manage.py migrate``, which creates a new database at once and says what to do about one that is too old."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from foretell import earlier_database
from foretell.new_database import tables_create

#: With one of these options, ``migrate`` doesn't do what it does by default.
OTHERWISE = ("app_label", "plan", "check_unapplied", "fake", "fake_initial", "prune")


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if problem := earlier_database.problem(MigrationRecorder(connection).applied_migrations()):
            raise CommandError(problem)
        if not any(options[name] for name in OTHERWISE):
            tables_create(connection=connection)
        super().handle(*args, **options)
