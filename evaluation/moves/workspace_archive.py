"""The file of a workspace's backup: a zip archive, not compressed, of encrypted files, and an encrypted table of contents that lists each with its digest.

The archive has ``workspace.foretell`` with the rows that belong to no single study, ``studies/0001.foretell`` and so on, each of which
``import_study`` reads too, and ``contents.foretell``. Without the key it tells how many studies there are, and how large.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from annotator.core.archives import ARCHIVE_ERRORS
from annotator.core.printable import printable
from evaluation.moves.lines import LinesWriter, head_read, lines_read
from evaluation.moves.rows_import import head_check
from evaluation.moves.sealed_file import Key, MoveError, WrongKey
from evaluation.moves.tables import MOVED, Row
from evaluation.moves.workspace_tables import OWN

KIND, FORMAT = "workspace backup", 1
CONTENTS, WORKSPACE = "contents.foretell", "workspace.foretell"
#: What the table of contents says of each study, beside its title.
ABOUT = {"slug", "state", "archived", "deleted", "hit_type", "members"}
_NO_ARCHIVE = (
    "this is not a file that workspace_backup wrote, or it is cut off or damaged in its last part, where the list of its files is. "
    "Copy it again."
)


@dataclass(frozen=True)
class BackupPart:
    """One encrypted file of a backup, as the table of contents lists it; ``about`` is what it says of a study."""

    name: str
    sha256: str
    size: int
    rows: dict[str, int]
    about: Row = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the part is, for messages."""
        return f"the study {printable(str(self.about['slug']), most=80)}" if self.about else "the workspace"

    def row(self) -> Row:
        """The part as the table of contents has it."""
        return {
            "file": self.name, "sha256": self.sha256, "bytes": self.size, "rows": {one: n for one, n in self.rows.items() if n},
            **self.about,
        }  # fmt: skip


@dataclass(frozen=True)
class Contents:
    """The table of contents of a backup."""

    id: str
    written_at: str
    software: str
    name: str
    workspace: BackupPart
    studies: tuple[BackupPart, ...]
    #: Studies that aren't in the backup: short name -> the reason.
    without: dict[str, str]

    @property
    def parts(self) -> tuple[BackupPart, ...]:
        return (self.workspace, *self.studies)


class _Counting:
    """A file that knows the digest and the number of the bytes that went through it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._digest, self.size = file, sha256(), 0

    def _count(self, data: bytes) -> bytes:
        self._digest.update(data)
        self.size += len(data)
        return data

    def write(self, data: bytes) -> int:
        """Write bytes that count."""
        return self._file.write(self._count(data))

    def read(self, size: int) -> bytes:
        """Read bytes that count."""
        return self._count(self._file.read(size))

    @property
    def sha256(self) -> str:
        """The digest of all bytes until now."""
        return self._digest.hexdigest()


class BackupWriter:
    """Writes the parts of a backup one after the other, and its table of contents last."""

    def __init__(self, file: IO[bytes], key: Key) -> None:
        self._zip, self._key = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True), key

    def part(
        self, name: str, write: Callable[[IO[bytes]], dict[str, int]], about: Row | None = None
    ) -> BackupPart:
        """Add what ``write`` writes, which returns the number of its rows by table."""
        with self._zip.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
            counting = _Counting(member)
            rows = write(cast(IO[bytes], counting))
        return BackupPart(name, counting.sha256, counting.size, rows, about or {})

    def close(self, contents: Contents) -> None:
        """Add the table of contents."""
        with self._zip.open(zipfile.ZipInfo(CONTENTS), "w") as member:
            out = LinesWriter(member, self._key)
            out.write(
                {
                    "foretell": KIND, "format": FORMAT, "id": contents.id, "written_at": contents.written_at, "software": contents.software,
                    "name": contents.name, "workspace": contents.workspace.row(), "studies": [study.row() for study in contents.studies],
                    "without": contents.without,
                }
            )  # fmt: skip
            out.close()
        self._zip.close()


class BackupReader:
    """A backup that is open for reading. Raises ``MoveError`` if it is none, and ``WrongKey``."""

    def __init__(self, file: IO[bytes], key: Key) -> None:
        self._key = key
        try:
            self._zip = zipfile.ZipFile(file)
        except ARCHIVE_ERRORS:
            raise MoveError(_NO_ARCHIVE) from None
        with self.open(CONTENTS, "the table of contents") as member:
            self.contents = _contents(list(lines_read(member, key)))
        listed = {CONTENTS, *(part.name for part in self.contents.parts)}
        names = self._zip.namelist()
        if sorted(names) != sorted(listed):
            other = printable(", ".join(sorted(set(names) ^ listed)) or "a file twice", most=200)
            raise MoveError(f"the archive's files aren't those of its table of contents: {other}")

    def __enter__(self) -> BackupReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    @contextmanager
    def open(self, name: str, title: str) -> Iterator[IO[bytes]]:
        """The encrypted file of this name. What is wrong with it is said with its ``title``."""
        where = f"{title} ({name} in the archive)"
        try:
            info = self._zip.getinfo(name)
            member = self._zip.open(info)
        except KeyError:
            raise MoveError(f"the archive has no {name}") from None
        except (*ARCHIVE_ERRORS, NotImplementedError) as error:
            raise MoveError(
                f"{where} is damaged: {printable(str(error), most=200)}. Copy it again."
            ) from None
        try:
            with member:
                if info.compress_type != zipfile.ZIP_STORED:
                    raise MoveError("it is compressed, as no file of a backup is")
                yield member
        except WrongKey:
            raise
        except MoveError as error:
            raise MoveError(f"{where}: {error}") from error
        except (zipfile.BadZipFile, EOFError):
            raise MoveError(f"{where} is damaged: its checksum is another. Copy it again.") from None

    def check(self) -> None:
        """Read the whole backup, and compare each file with its digest. Raises ``MoveError`` with the first damage and its place."""
        for part in self.contents.parts:
            holds, tables = ("study", MOVED) if part.about else ("workspace", OWN)
            with self.open(part.name, part.title) as member:
                counting = _Counting(member)
                head = head_read(cast(IO[bytes], counting), self._key)
                if (counting.sha256, counting.size) != (part.sha256, part.size):
                    raise MoveError(
                        "it isn't the file that the table of contents lists: its SHA-256 is another"
                    )
                head_check(head, holds=holds, tables=tables)


def backup_check(*, path: Path, key: Key) -> Contents:
    """Read a whole backup and return its table of contents. Raises ``MoveError`` with what is wrong, and where."""
    with path.open("rb") as file, BackupReader(file, key) as backup:
        backup.check()
        return backup.contents


def _contents(lines: list[Row]) -> Contents:
    if len(lines) != 1 or lines[0].get("foretell") != KIND:
        raise MoveError("it is no table of contents of a workspace's backup")
    found: Any = lines[0]
    if found.get("format") != FORMAT:
        raise MoveError(
            f"it has format {printable(repr(found.get('format')), most=50)}; this version of Foretell reads format {FORMAT}"
        )
    try:
        studies = tuple(_part(dict(study)) for study in found["studies"])
        if not all(study.about for study in studies):
            raise KeyError("slug")
        return Contents(
            id=str(found["id"]), written_at=str(found["written_at"]), software=str(found["software"]), name=str(found["name"]),
            workspace=_part(dict(found["workspace"])), studies=studies, without=dict(found["without"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise MoveError("it lacks something that every table of contents has") from None


def _part(row: Row) -> BackupPart:
    name, digest, size, rows = (row.pop(one) for one in ("file", "sha256", "bytes", "rows"))
    if row and not set(row) >= ABOUT:
        raise KeyError(*(ABOUT - set(row)))
    if not all(isinstance(user, int) and isinstance(role, str) for user, role in row.get("members", ())):
        raise TypeError("members")
    return BackupPart(str(name), str(digest), int(size), dict(rows), row)
