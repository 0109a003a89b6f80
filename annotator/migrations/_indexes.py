"""Indexes of large tables, built while people work."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently


class AddIndexWhilePeopleWork(AddIndexConcurrently):
    """``AddIndexConcurrently`` that can be repeated: if it's interrupted, Postgres keeps an invalid index of the same name.

    The migration has ``atomic = False``.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, from_state, to_state)
