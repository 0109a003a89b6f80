"""Files that appear under their name when they are complete, and that only their owner can read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from annotator.core.stored_files import PARTIAL
from evaluation.moves.sealed_file import MoveError


def partial_path(path: Path) -> Path:
    """What a file is called while it is being written."""
    return path.with_name(f"{path.name}{PARTIAL}")


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name when it is complete. Raises ``MoveError`` if there is one already."""
    if path.exists():
        raise MoveError(f"{path} exists already; choose another name")
    partial = partial_path(path)
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # so that the name outlasts a power cut, too: the rows are removed next
        finally:
            os.close(folder)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
