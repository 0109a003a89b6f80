"""The archives of releases in the file of a study: in pieces after the row of their release, each checked by the digest of that row."""

from __future__ import annotations

import base64
import binascii
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import IO, Any

from django.core.files import File
from django.core.files.storage import default_storage

from annotator.core import jobs
from annotator.core.printable import printable
from evaluation.moves.sealed_file import MoveError
from evaluation.moves.tables import Row
from evaluation.services.release import FOLDER, STORING

_PIECE = 2**20


def archive_pieces(name: str, title: str) -> Iterator[Row]:
    """The lines of one archive. Raises ``MoveError`` if its file is missing."""
    try:
        with default_storage.open(name) as file:
            while piece := file.read(_PIECE):
                yield {"piece": base64.b64encode(piece).decode()}
    except FileNotFoundError:
        raise MoveError(
            f"the archive of the release “{printable(title, most=100)}” is missing on the server; restore DATA_DIR/files from a backup, or "
            "delete the release"
        ) from None


class Archives:
    """Archives that are being read, by the number of their release in the file."""

    def __init__(self) -> None:
        self._files: dict[Any, IO[bytes]] = {}

    def add(self, number: Any, piece: Any) -> None:
        """Add a piece to the archive of a release. Raises ``MoveError`` if it is no base64."""
        try:
            content = base64.b64decode(piece, validate=True)
        except (ValueError, binascii.Error, TypeError):
            raise MoveError("a piece of a release's archive is damaged") from None
        if not isinstance(number, int):
            raise MoveError("a release has no number")
        if number not in self._files:
            self._files[number] = tempfile.TemporaryFile()  # noqa: SIM115 - closed once it is stored
        self._files[number].write(content)

    def stored(self, number: int, row: Row) -> str:
        """Store the archive of a release, and return its name. Raises ``MoveError`` if it isn't there or isn't the one of the row."""
        file = self._files.pop(number, None)
        if file is None or row["state"] != "done":
            raise MoveError(f"the release {number} has no archive in the file")
        with file:
            digest, size = sha256(), file.tell()
            file.seek(0)
            while piece := file.read(_PIECE):
                digest.update(piece)
            if (digest.hexdigest(), size) != (row["sha256"], row["bytes"]):
                raise MoveError(f"the archive of the release {number} is another than its SHA-256 says")
            file.seek(0)
            jobs.lock_share_briefly(STORING)
            return default_storage.save(f"{FOLDER}/{row['id']}-{secrets.token_urlsafe(12)}.zip", File(file))


def raters_renewed(before: Any, here: Mapping[int, int]) -> dict[str, int]:
    """Rater here -> the number by which the release's pseudonyms were made, of those who have another number here.

    >>> raters_renewed({"7": 3}, {7: 70, 8: 8, 9: 90})
    {'70': 3, '90': 9}
    """
    made = {
        str(key): value
        for key, value in (before.items() if isinstance(before, dict) else ())
        if isinstance(value, int)
    }
    numbers = {new: made.get(str(old), old) for old, new in here.items()}
    return {str(new): number for new, number in numbers.items() if new != number}
