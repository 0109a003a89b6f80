"""Check a backup and restore it into an empty installation."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from psycopg import sql

from annotator.services.erasure import FOLDER as TOMBSTONES
from annotator.services.erasure import erasures_replay
from foretell import earlier_database, unfinished_restore
from foretell.backup import FILES, FORMAT, MANIFEST, BackupError, digest, key_fingerprint, tables
from foretell.bare_tables import bare_tables
from foretell.new_database import tables_create

#: ``migrate`` fills these tables, so they may have rows in an empty installation.
FILLED_BY_MIGRATE = {"django_content_type", "auth_permission"}
BLOCK = 1 << 20
#: A table with at least this many rows gets its indexes and foreign keys once they are there.
LARGE = 100_000


def backup_check(*, directory: Path) -> dict[str, Any]:
    """Compare every file of a backup with its checksum; return the manifest.

    Raises:
        BackupError: a file is missing or changed, or this isn't a backup.
    """
    try:
        manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text())
    except FileNotFoundError:
        raise BackupError(f"{directory} has no {MANIFEST}: it isn't a complete backup.") from None
    except ValueError as error:
        raise BackupError(f"{directory / MANIFEST} is damaged: {error}") from None
    if manifest.get("format") != FORMAT:
        raise BackupError(f"This is a backup of format {manifest.get('format')}; expected format {FORMAT}.")
    for name, expected in manifest["sha256"].items():
        if not (directory / name).is_file():
            raise BackupError(f"{name} is missing from the backup.")
        if digest(directory / name) != expected:
            raise BackupError(f"{name} is damaged: its checksum differs from the manifest.")
    if "files" in manifest["parts"]:
        for _ in stored_files(directory / FILES):
            pass
    return manifest


def stored_files(archive: Path) -> Iterator[tuple[tarfile.TarInfo, PurePosixPath, IO[bytes]]]:
    """Each file of a backup's archive, with its path below the file storage.

    A backup has ordinary files only. Everything else that an archive can hold could do harm: absolute paths, ``..``, links, devices,
    files with holes. The filters of ``TarFile.extractall`` refuse most of it too, but not in the Python 3.11.2 of Debian 12.

    Raises:
        BackupError: the archive holds something else, or can't be read.
    """
    try:
        with tarfile.open(archive) as files:
            for member in files:
                path = PurePosixPath(member.name)
                outside = not path.parts or path.is_absolute() or ".." in path.parts or "\0" in member.name
                if outside or not member.isreg() or member.issparse():
                    raise BackupError(
                        f"{archive.name} holds {member.name!r}, which isn't a file of a backup."
                    )
                yield member, path, cast(IO[bytes], files.extractfile(member))
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BackupError(f"{archive.name} can't be read: {error}") from error


def same_key(manifest: dict[str, Any]) -> bool:
    """Whether this installation can decrypt what the backup's installation encrypted."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return manifest["key"] in map(key_fingerprint, keys)


def backup_restore(*, directory: Path) -> dict[str, Any]:
    """Check a backup, restore it into an empty database and file storage, and migrate to this version.

    Tables and rows are restored in one transaction: all or nothing. People who were erased after the backup was made are erased
    again: their tombstones are the files in ``erasures/``, which may be in the file storage already. A restore that was interrupted
    after the rows were there continues when it's called again; until then ``foretell.serve`` starts nothing (``unfinished_restore``). Returns the
    manifest with the number of repeated erasures in ``erased``.

    Raises:
        BackupError: the backup is damaged or newer than this version, or there is data already.
    """
    manifest = backup_check(directory=directory)
    database, files = ("database" in manifest["parts"]), ("files" in manifest["parts"])
    which = {"backup": digest(directory / MANIFEST), "database": _database_address()}
    if not (database and unfinished_restore.rows_are_there(**which)):
        if database:
            _refuse_rows()
        if files:
            _refuse_files()
        if database:
            unfinished_restore.note(**which, rows=False)
            _migrate_to(manifest["migrations"])
            _rows_restore(directory / "database", manifest)
            unfinished_restore.note(**which, rows=True)
    if database:
        call_command("migrate", verbosity=0, interactive=False)
    if files:
        _files_restore(directory / FILES)
    if not database:
        return manifest | {"erased": 0}
    erased = erasures_replay()  # people who were removed later stay removed
    unfinished_restore.finished()
    return manifest | {"erased": erased}


def _database_address() -> str:
    server = connection.settings_dict
    return f"{server['HOST']}:{server['PORT']}/{server['NAME']}"


def _refuse_rows() -> None:
    with connection.cursor() as cursor:
        for table in tables():
            if table in FILLED_BY_MIGRATE:
                continue
            cursor.execute(sql.SQL("SELECT EXISTS (SELECT 1 FROM {})").format(sql.Identifier(table)))
            if cursor.fetchone()[0]:
                raise BackupError(
                    f"The database isn't empty ({table} has rows). Restore into a new, empty database: create one "
                    "and set DATABASE_URL."
                )


def _refuse_files() -> None:
    root = Path(default_storage.location)  # type: ignore[attr-defined]
    files = [item.relative_to(root) for item in root.rglob("*") if item.is_file()] if root.is_dir() else []
    if any(path.parts[0] != TOMBSTONES for path in files):
        raise BackupError(
            f"{root} isn't empty. Restore into a new DATA_DIR, or move the files away (except {TOMBSTONES}/)."
        )


def _migrate_to(recorded: list[list[str]]) -> None:
    """Create the tables as they were when the backup was made."""
    executor = MigrationExecutor(connection)
    applied = {(app, name) for app, name in recorded}
    initial = executor.loader.replacements.values()
    known = {*executor.loader.disk_migrations, *(old for one in initial for old in one.replaces)}
    if unknown := sorted(applied - known):
        raise BackupError(
            f"The backup has migrations that this version doesn't know ({'.'.join(unknown[0])}). Restore it with the "
            "version of Foretell that made it, or a later one."
        )
    if problem := earlier_database.problem(applied):
        raise BackupError(problem)
    # A backup from before the initial migrations has all that they replace.
    applied |= {(one.app_label, one.name) for one in initial if applied.issuperset(one.replaces)}
    graph = executor.loader.graph
    reached = applied & set(graph.nodes)
    leaves = [
        node
        for node in reached
        if not any(
            child.key in reached and child.key[0] == node[0] for child in graph.node_map[node].children
        )
    ]
    if not tables_create(connection=connection, targets=sorted(leaves)):
        executor.migrate(sorted(leaves))


def _rows_restore(folder: Path, manifest: dict[str, Any]) -> None:
    large = [table for table, about in manifest["tables"].items() if about["rows"] >= LARGE]
    with transaction.atomic(), connection.cursor() as cursor:
        identifiers = sql.SQL(", ").join(map(sql.Identifier, manifest["tables"]))
        cursor.execute(sql.SQL("TRUNCATE {}").format(identifiers))
        # Payments come before what they were earned by; see annotator/services/ledger_copy.py.
        cursor.execute("SET LOCAL foretell.ledger_copied = 'on'")
        # Foreign keys are checked at the end, so the order of the tables doesn't matter.
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        with bare_tables(large) if large else nullcontext():
            for table, about in manifest["tables"].items():
                table_restore(cursor, table, about, folder / f"{table}.copy.gz")
        for sequence, value in manifest["sequences"].items():
            cursor.execute("SELECT setval(%s::regclass, %s)", [f'"{sequence}"', value])


def table_restore(cursor: Any, table: str, about: dict[str, Any], path: Path) -> None:
    """Copy the rows of one table; ``about`` is what the manifest says of it."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, about["columns"]))
    )
    with gzip.open(path) as file, cursor.copy(statement) as copy:
        while block := file.read(BLOCK):
            copy.write(block)
    if cursor.rowcount != about["rows"]:
        raise BackupError(f"{table} has {cursor.rowcount} rows; the manifest says {about['rows']}.")


def _files_restore(archive: Path) -> None:
    root = Path(default_storage.location)  # type: ignore[attr-defined]
    root.mkdir(mode=settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS, parents=True, exist_ok=True)
    for member, path, content in stored_files(archive):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as copy:
            shutil.copyfileobj(content, copy, BLOCK)
        os.utime(target, (member.mtime, member.mtime))
    for item in root.rglob("*"):
        item.chmod(
            settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS if item.is_dir() else settings.FILE_UPLOAD_PERMISSIONS
        )
