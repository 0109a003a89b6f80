"""Uploaded files between preview and import: kept in the file storage and identified by a signed ticket."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

from django.core import signing
from django.core.files import File
from django.core.files.storage import default_storage
from django.utils import timezone

FOLDER = "imports"
HOURS = 6
_SALT = "annotator.import"


@dataclass(frozen=True)
class Parked:
    """One uploaded file. Its ticket is valid for some hours, for its study and the person who uploaded it."""

    study: int
    user: int
    path: str
    name: str

    @property
    def ticket(self) -> str:
        return signing.dumps(asdict(self), salt=_SALT, compress=True)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The file; raises ``FileNotFoundError`` if it has been deleted."""
        with default_storage.open(self.path, "rb") as file:
            yield file

    def discard(self) -> None:
        default_storage.delete(self.path)


def park(*, study_pk: int, user_pk: int, file: IO[bytes], name: str) -> Parked:
    """Store an uploaded file for the next pages."""
    name = Path(name).name[-150:]
    path = default_storage.save(f"{FOLDER}/{secrets.token_urlsafe(18)}", File(file))
    return Parked(study=study_pk, user=user_pk, path=path, name=name)


def parked(*, ticket: str, study_pk: int, user_pk: int) -> Parked | None:
    """The file of a ticket; None if the ticket is forged, expired or another person's."""
    try:
        found = Parked(**signing.loads(ticket, salt=_SALT, max_age=timedelta(hours=HOURS)))
    except (signing.BadSignature, TypeError):
        return None
    return found if (found.study, found.user) == (study_pk, user_pk) else None


def pending_uploads_sweep() -> int:
    """Delete files whose ticket has expired; returns how many."""
    try:
        _, names = default_storage.listdir(FOLDER)
    except FileNotFoundError:
        return 0
    old = timezone.now() - timedelta(hours=HOURS)
    gone = [
        f"{FOLDER}/{name}" for name in names if default_storage.get_modified_time(f"{FOLDER}/{name}") < old
    ]
    for path in gone:
        default_storage.delete(path)
    return len(gone)
