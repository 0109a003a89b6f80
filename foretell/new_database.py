"""Create the tables of a new, empty database at once, instead of migration by migration.

Before each of its hundreds of operations, Django's ``migrate`` renders every model that could be related to what changes, which
takes half a minute for the whole history. An empty database needs only the tables that the history ends with.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations import RunPython, RunSQL


def tables_create(
    *, connection: BaseDatabaseWrapper, targets: Sequence[tuple[str, str]] | None = None
) -> bool:
    """Create the tables that the migrations up to ``targets`` would, and record these migrations as applied; all or nothing.

    ``targets`` are (application, migration); without them, the last of each application. Returns whether it did: in a database
    with tables it does nothing. The statements and functions that migrations run (``RunSQL``, ``RunPython``) follow when all
    tables are there, in the order of the migrations. A migration whose statements need the tables as they were at its time
    would break that: ``tests/faults/test_upgrade.py`` compares a new database with one that was upgraded step by step.
    """
    if connection.introspection.table_names():
        return False
    executor = MigrationExecutor(connection)
    nodes = list(executor.loader.graph.leaf_nodes() if targets is None else targets)
    migrations = [migration for migration, _ in executor.migration_plan(nodes)]
    state = executor.loader.project_state(nodes)
    with transaction.atomic(using=connection.alias):
        with connection.schema_editor() as editor:
            for label, name in state.models:
                model = state.apps.get_model(label, name)
                if model._meta.can_migrate(connection):
                    editor.create_model(model)
        for migration in migrations:
            for operation in migration.operations:
                if isinstance(operation, RunSQL | RunPython):
                    with connection.schema_editor() as editor:
                        operation.database_forwards(migration.app_label, editor, state, state)
        executor.recorder.ensure_schema()
        for migration in migrations:
            executor.record_migration(migration)  # type: ignore[arg-type, call-arg]  # the stubs have an older signature
    return True
