from __future__ import annotations

from typing import Any

from django.db import migrations

#: Name -> its rows. Both are on (study, rehearsal, position, number).
NEW = {
    "place_open_in_layer": "assignment_id IS NULL",
    "place_freed_in_layer": "assignment_id IS NULL AND freed",
}
OLD = ("place_open", "place_freed")


def build(apps: Any, schema_editor: Any) -> None:
    """Build the indexes while people work; a table of millions of places would be locked for minutes otherwise.

    An installation that ran 0008 before this migration existed has them. An earlier attempt that was interrupted has left
    an invalid index, which is built again.
    """
    with schema_editor.connection.cursor() as cursor:
        for name, rows in NEW.items():
            cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
            found = cursor.fetchone()
            if found == (True,):
                continue
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            cursor.execute(
                f"CREATE INDEX CONCURRENTLY {name} ON annotator_place (study_id, rehearsal, position, number) WHERE {rows}"
            )
        for name in OLD:
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


class Migration(migrations.Migration):
    """The indexes of free places that 0008_study_life declares."""

    atomic = False
    dependencies = [("annotator", "0028_study_images")]

    operations = [migrations.RunPython(build, migrations.RunPython.noop)]
