"""Files of imports: the one reader, with the limits of this installation."""

from __future__ import annotations

from typing import IO

from django.conf import settings

from annotator.core.tables import rows
from annotator.core.tables.faults import FaultLog
from annotator.core.tables.plain_file import FORMATS as PLAIN_FORMATS
from annotator.core.tables.plain_file import Limits
from annotator.core.tables.rows import TableFile

#: File extensions that an import accepts, for the file field of a form.
FORMATS = (*PLAIN_FORMATS, ".gz")


def max_bytes() -> int:
    """The largest file that can be imported, in bytes (setting ``IMPORT_MAX_BYTES``)."""
    return int(settings.IMPORT_MAX_BYTES)


def table_open(file: IO[bytes], *, name: str, log: FaultLog) -> TableFile:
    """Open an import file by its extension; at most ``IMPORT_MAX_BYTES`` and ``IMPORT_MAX_ROWS`` are read. Raises ``FileRefused``."""
    limits = Limits(size=max_bytes(), rows=settings.IMPORT_MAX_ROWS)
    return rows.table_open(file, name=name, log=log, limits=limits)
