"""Uploaded files between preview and import: kept in the file storage and identified by a signed ticket."""

from __future__ import annotations

import secrets
import shutil
import tempfile
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

from annotator.models import FileImport

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

    @property
    def size(self) -> int:
        """Bytes; ``FileNotFoundError`` once it is gone."""
        return default_storage.size(self.path)

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
        upload = Parked(**signing.loads(ticket, salt=_SALT, max_age=timedelta(hours=HOURS)))
    except (signing.BadSignature, TypeError):
        return None
    return upload if (upload.study, upload.user) == (study_pk, user_pk) else None


# -- in pieces, because a proxy may refuse large request bodies ---------------------------------------------------


def upload_begin(*, study_pk: int, user_pk: int, name: str) -> Parked:
    """A file that is uploaded in pieces. Its ticket allows adding pieces, and importing the file once it is complete."""
    return Parked(
        study=study_pk,
        user=user_pk,
        path=f"{FOLDER}/{secrets.token_urlsafe(18)}",
        name=Path(name).name[-150:],
    )


def upload_add(*, upload: Parked, offset: int, piece: IO[bytes], most: int) -> int:
    """Store the piece that begins at ``offset``; returns the number of bytes received so far.

    A piece that is sent again replaces the first copy. Raises ``ValueError`` if the piece would leave a gap, or the
    file would exceed ``most`` bytes.
    """
    received = upload_received(upload)
    if offset > received:
        raise ValueError(f"expected the piece at {received}, got the one at {offset}")
    path = f"{upload.path}.pieces/{offset:015d}"
    size = piece.seek(0, 2)
    piece.seek(0)
    if offset + size > most:
        raise ValueError(f"expected at most {most:,} bytes")
    if default_storage.exists(path):
        default_storage.delete(path)
    default_storage.save(path, File(piece))
    return max(received, offset + size)


def upload_received(upload: Parked) -> int:
    """How many bytes have been received without a gap."""
    end = 0
    for begin, size in _pieces(upload):
        if begin > end:
            break
        end = max(end, begin + size)
    return end


def upload_end(*, upload: Parked, size: int) -> None:
    """Join the pieces. Raises ``ValueError`` unless they are exactly ``size`` bytes. Safe to call twice."""
    if default_storage.exists(upload.path):
        return
    received = upload_received(upload)
    if received != size or not size:
        raise ValueError(f"{received} of {size} bytes have been received")
    with tempfile.TemporaryFile() as whole:
        for begin, _ in _pieces(upload):
            whole.seek(begin)
            with default_storage.open(f"{upload.path}.pieces/{begin:015d}", "rb") as piece:
                shutil.copyfileobj(piece, whole)
        whole.seek(0)
        default_storage.save(upload.path, File(whole))
    for begin, _ in _pieces(upload):
        default_storage.delete(f"{upload.path}.pieces/{begin:015d}")


def _pieces(upload: Parked) -> list[tuple[int, int]]:
    """(offset, size) of each piece, in order."""
    folder = f"{upload.path}.pieces"
    try:
        _, names = default_storage.listdir(folder)
    except FileNotFoundError:
        return []
    return [(int(name), default_storage.size(f"{folder}/{name}")) for name in sorted(names)]


def pending_uploads_sweep() -> int:
    """Delete files whose ticket has expired, except those that an import still needs; returns how many."""
    try:
        folders, names = default_storage.listdir(FOLDER)
    except FileNotFoundError:
        return 0
    paths = [f"{FOLDER}/{name}" for name in names]
    for folder in folders:
        _, pieces = default_storage.listdir(f"{FOLDER}/{folder}")
        paths += [f"{FOLDER}/{folder}/{piece}" for piece in pieces]
    waiting = set(FileImport.objects.filter(state__in=FileImport.UNFINISHED).values_list("file", flat=True))
    old = timezone.now() - timedelta(hours=HOURS)
    gone = [path for path in paths if path not in waiting and default_storage.get_modified_time(path) < old]
    for path in gone:
        default_storage.delete(path)
    return len(gone)
