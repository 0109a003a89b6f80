"""Numbers of rows before the rows exist, for tables that refer to each other."""

from __future__ import annotations

from django.db import connection
from django.db.models import Model

#: More rows than a file has.
_ROOM = 20_000_000


def new_ids(model: type[Model], count: int, *, same_length: bool = False) -> list[int]:
    """``count`` new ids for a table, in ascending order, which no other row will have.

    With ``same_length`` all ids that are taken so in the future, too, have one number of digits: names made from them then sort as they do.
    """
    if not count:
        return []
    meta = model._meta
    of = (meta.db_table, "id")
    with connection.cursor() as cursor:
        if same_length:
            cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, %s))", of)
            first = int(cursor.fetchone()[0])
            if len(str(first)) < len(str(first + _ROOM)):
                cursor.execute(
                    "SELECT setval(pg_get_serial_sequence(%s, %s), %s)",
                    [*of, 10 ** len(str(first + _ROOM))],
                )
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)", [*of, count]
        )
        return [int(pk) for (pk,) in cursor.fetchall()]
