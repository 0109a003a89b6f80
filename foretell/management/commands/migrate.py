"""``manage.py migrate``, which says what to do about a database that is too old."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from foretell import earlier_database


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        applied = MigrationRecorder(connections[options["database"]]).applied_migrations()
        if problem := earlier_database.problem(applied):
            raise CommandError(problem)
        super().handle(*args, **options)
