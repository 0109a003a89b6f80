"""Write a backup: the database, the files, and, to another place, the keys.

A backup is a directory:

- ``manifest.json``: format, time, applied migrations, and the rows and SHA-256 of every part
- ``database/<table>.copy.gz``: the rows of one table in Postgres' COPY text format
- ``files.tar.gz``: uploads, exports and report files

All tables are read in one snapshot, while people work. No program of Postgres is needed, and the backup can be restored into a
newer major version. The keys that decrypt stored API keys are never in this directory; ``keys_write`` puts them into a file that
should be kept somewhere else.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import os
import shutil
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

FORMAT = 1
MANIFEST = "manifest.json"
FILES = "files.tar.gz"
#: Written by ``migrate`` during a restore.
NOT_COPIED = {"django_migrations"}
PARTS = ("database", "files")


class BackupError(Exception):
    """A backup can't be written, read or restored; the message says why and what to do."""


def backup_write(*, directory: Path, parts: tuple[str, ...] = PARTS) -> dict[str, Any]:
    """Write a backup to ``directory``, which mustn't exist yet, and return its manifest.

    The directory appears under its name only when the backup is complete. A killed process leaves ``DIRECTORY.partial``.

    Raises:
        BackupError: the directory exists.
    """
    if directory.exists():
        raise BackupError(f"{directory} exists already. Choose another directory.")
    partial = directory.with_name(f"{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700, parents=True)
    try:
        manifest = _parts_write(partial, parts)
    except BaseException:  # a half backup is of no use and contains personal data
        shutil.rmtree(partial, ignore_errors=True)
        raise
    partial.rename(directory)
    return manifest


def _parts_write(partial: Path, parts: tuple[str, ...]) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "parts": list(parts),
        "migrations": sorted(map(list, MigrationRecorder(connection).applied_migrations())),
        "key": key_fingerprint(settings.SECRET_KEY),
        "sha256": {},
    }
    if "database" in parts:
        manifest |= _database_write(partial / "database")
    if "files" in parts:
        manifest["files"] = _files_write(partial / FILES)
    for path in sorted(partial.rglob("*.gz")):
        manifest["sha256"][str(path.relative_to(partial))] = digest(path)
    with private_file(partial / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1).encode())
        file.flush()
        os.fsync(file.fileno())
    return manifest


def keys_write(*, path: Path) -> None:
    """Write ``SECRET_KEY`` and ``SECRET_KEY_FALLBACKS`` as lines for ``.env``, readable by the owner only.

    Raises:
        BackupError: the file exists.
    """
    lines = [f"SECRET_KEY={settings.SECRET_KEY}"]
    lines += [f"SECRET_KEY_FALLBACKS={','.join(settings.SECRET_KEY_FALLBACKS)}"]
    try:
        with private_file(path) as file:
            file.write(("\n".join(lines) + "\n").encode())
    except FileExistsError:
        raise BackupError(f"{path} exists already. Choose another file.") from None


def tables() -> list[str]:
    """The tables whose rows a backup contains."""
    return sorted(
        set(connection.introspection.django_table_names(only_existing=True, include_views=False)) - NOT_COPIED
    )


def key_fingerprint(key: str) -> str:
    """Tells whether two installations have the same key, without revealing it."""
    return hmac.new(key.encode(), b"foretell backup", hashlib.sha256).hexdigest()[:16]


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def private_file(path: Path) -> IO[bytes]:
    """A new file that only its owner can read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def columns(table: str) -> list[str]:
    """The columns of a table whose values are stored, without generated ones."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            [sql.Identifier(table).as_string(None)],
        )
        return [name for (name,) in cursor.fetchall()]


def _database_write(folder: Path) -> dict[str, Any]:
    folder.mkdir(mode=0o700)
    rows: dict[str, dict[str, Any]] = {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table in tables():
            names = columns(table)
            statement = sql.SQL("COPY {} ({}) TO STDOUT").format(
                sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, names))
            )
            with (
                private_file(folder / f"{table}.copy.gz") as raw,
                gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0, filename="") as file,
                cursor.copy(statement) as copy,
            ):
                for block in copy:
                    file.write(block)
            rows[table] = {"columns": names, "rows": cursor.rowcount}
        sequences = _sequences(cursor)
    return {"tables": rows, "sequences": sequences}


def _sequences(cursor: Any) -> dict[str, int]:
    """Each sequence that has been used, with its last value."""
    cursor.execute(
        "SELECT sequencename, last_value FROM pg_sequences"
        " WHERE schemaname = current_schema() AND last_value IS NOT NULL"
    )
    return dict(cursor.fetchall())


def _files_write(path: Path) -> int:
    """How many files were written. A file that is deleted meanwhile is left out."""
    root, count = Path(default_storage.location), 0  # type: ignore[attr-defined]
    with private_file(path) as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for item in sorted(root.rglob("*")) if root.is_dir() else []:
            if not item.is_file() or item.is_symlink():
                continue
            try:
                archive.add(item, arcname=str(item.relative_to(root)), recursive=False)
            except FileNotFoundError:
                continue
            count += 1
    return count
