"""Write a file that appears only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open ``path`` for writing; it gets its new content only at the end, all at once.

    If writing fails or is interrupted (Ctrl-C), an existing file keeps its content and a new one isn't made, so half of an
    export is never mistaken for the whole. A killed process leaves ``.NAME.part`` beside it. What isn't an ordinary file, such as ``/dev/stdout``,
    is written directly.

    Raises:
        OSError: the file can't be written.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()  # through a link, so that the link stays
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        if path.exists():
            part.chmod(path.stat().st_mode)
        os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(part):
            error.filename = str(path)
        raise
