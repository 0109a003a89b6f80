"""A backup drill: back up a database in use, restore it into an empty one, and compare every row and file."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from annotator.models import Judgment, Study
from annotator.services.erasure import erase
from foretell import backup
from foretell import restore as restoring
from foretell.bare_tables import bare_tables
from foretell.earlier_database import LAST_WITH_STEPS
from tests import databases
from tests.factories import make_judgment, make_rater, make_study
from tests.processes import python

pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def empty_database() -> Iterator[str]:
    with databases.empty_database("restored") as url:
        yield url


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: object) -> Path:
    """A file storage of this test, with one upload in it."""
    location = tmp_path / "data" / "files"
    settings.STORAGES = {  # type: ignore[attr-defined]
        **settings.STORAGES,  # type: ignore[attr-defined]
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": location},
        },
    }
    default_storage.save("exports/one.csv", ContentFile(b"a,b\n1,2\n"))
    return location


def fill() -> None:
    study = make_study(items=5, launched=True, title="Umlauts \\ tab\t, quotes \" ' and NULL \\N")
    for number in range(3):
        for item in study.items.all():
            make_judgment(item, make_rater(f"rater {number}"))


def contents(url: str) -> dict[str, tuple[int, str]]:
    """Table -> number of rows and a digest of all of them."""
    found = {}
    with psycopg.connect(url) as database:
        for table in backup.tables():
            rows = database.execute(
                sql.SQL("SELECT t::text FROM {} t ORDER BY 1").format(sql.Identifier(table))
            ).fetchall()
            found[table] = (len(rows), hashlib.sha256(repr(rows).encode()).hexdigest())
    return found


def restore(directory: Path, url: str, data: Path, *options: str):  # type: ignore[no-untyped-def]
    return python("manage.py", "restore", str(directory), *options, DATABASE_URL=url, DATA_DIR=str(data))


def test_a_restored_backup_equals_the_original(tmp_path: Path, empty_database: str, storage: Path) -> None:
    fill()
    before = contents(databases.address(connection.settings_dict["NAME"]))
    assert before["annotator_judgment"][0] == 15
    call_command("backup", tmp_path / "backup", keys=tmp_path / "keys")
    done = restore(tmp_path / "backup", empty_database, tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert contents(empty_database) == before
    copied = tmp_path / "new" / "files" / "exports" / "one.csv"
    assert copied.read_bytes() == b"a,b\n1,2\n"
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600
    # New rows get new ids, and the restored database has every constraint.
    with psycopg.connect(empty_database) as database:
        largest, next_id = database.execute(
            "SELECT max(id), nextval(pg_get_serial_sequence('annotator_judgment', 'id')) FROM annotator_judgment"
        ).fetchone() or (0, 0)
        assert next_id > largest
    done = python("manage.py", "check", "--database", "default", DATABASE_URL=empty_database)
    assert done.returncode == 0, done.stderr
    done = restore(tmp_path / "backup", empty_database, tmp_path / "third")
    assert done.returncode == 1
    assert "The database isn't empty" in done.stderr


def test_a_backup_is_consistent_while_people_submit(tmp_path: Path, empty_database: str) -> None:
    """Rows that refer to each other are written during the backup: the copy has all of them or none."""
    fill()
    stop = threading.Event()

    def submit() -> None:
        try:
            number = 0
            while not stop.is_set():
                number += 1
                study = make_study(items=1, launched=True)
                make_judgment(study.items.get(), make_rater(f"late {number}"))
        finally:
            connection.close()

    writer = threading.Thread(target=submit)
    writer.start()
    try:
        call_command("backup", tmp_path / "backup", only="database")
    finally:
        stop.set()
        writer.join()
    done = restore(tmp_path / "backup", empty_database, tmp_path / "new")
    assert done.returncode == 0, done.stderr  # the foreign keys hold
    manifest = json.loads((tmp_path / "backup" / "manifest.json").read_text())
    assert 15 <= manifest["tables"]["annotator_judgment"]["rows"] <= Judgment.objects.count()


def test_damage_is_found_before_anything_is_restored(tmp_path: Path, empty_database: str) -> None:
    fill()
    call_command("backup", tmp_path / "backup")
    call_command("restore", tmp_path / "backup", check=True)
    part = tmp_path / "backup" / "database" / "annotator_judgment.copy.gz"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    done = restore(tmp_path / "backup", empty_database, tmp_path / "new")
    assert done.returncode == 1
    assert "annotator_judgment.copy.gz is damaged" in done.stderr
    with psycopg.connect(empty_database) as database:
        assert database.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (
            0,
        )
    part.unlink()
    with pytest.raises(CommandError, match="is missing from the backup"):
        call_command("restore", tmp_path / "backup", check=True)


def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path, empty_database: str) -> None:
    call_command("backup", tmp_path / "backup")
    path = tmp_path / "backup" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["migrations"].append(["annotator", "9999_from_the_future"])
    path.write_text(json.dumps(manifest))
    done = restore(tmp_path / "backup", empty_database, tmp_path / "new")
    assert done.returncode == 1
    assert "annotator.9999_from_the_future" in done.stderr


MIGRATE_TO = """
import django, json, sys; django.setup()
from foretell.restore import _migrate_to
_migrate_to(json.loads(sys.argv[1]))
"""


def steps() -> list[list[str]]:
    """The migrations of a backup that the last version before the initial migrations made."""
    recorded = MigrationRecorder(connection).applied_migrations()
    return [[app, name] for app, name in recorded if "initial_0_" not in name]


def test_a_backup_of_the_last_version_with_single_migrations_can_be_restored(empty_database: str) -> None:
    done = python("-c", MIGRATE_TO, json.dumps(steps()), DATABASE_URL=empty_database)
    assert done.returncode == 0, done.stderr
    new = databases.address(connection.settings_dict["NAME"])
    assert databases.schema(empty_database) == databases.schema(new)


def test_an_older_backup_is_refused_and_names_the_version_that_can_restore_it(
    tmp_path: Path, empty_database: str
) -> None:
    call_command("backup", tmp_path / "backup")
    path = tmp_path / "backup" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["migrations"] = [one for one in steps() if one != ["evaluation", "0020_fine_tuning_record"]]
    path.write_text(json.dumps(manifest))
    done = restore(tmp_path / "backup", empty_database, tmp_path / "new")
    assert done.returncode == 1
    assert f"Upgrade first with Foretell of {LAST_WITH_STEPS}" in done.stderr
    with psycopg.connect(empty_database) as database:
        assert database.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (
            0,
        )


def test_the_keys_are_kept_separate_and_private(tmp_path: Path, settings: object) -> None:
    settings.SECRET_KEY = "a-key-that-must-not-be-in-the-backup-0123456789-abcdef"  # type: ignore[attr-defined]
    call_command("backup", tmp_path / "backup", keys=tmp_path / "keys")
    key = settings.SECRET_KEY.encode()  # type: ignore[attr-defined]
    assert key in (tmp_path / "keys").read_bytes()
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o600
    assert key not in (tmp_path / "backup" / "manifest.json").read_bytes()
    for path in (tmp_path / "backup").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    with pytest.raises(CommandError, match="exists already"):
        call_command("backup", tmp_path / "backup")
    done = restore(tmp_path / "backup", "", tmp_path / "new", "--check")
    assert "SECRET_KEY differs" in done.stderr


def test_people_who_were_erased_stay_erased_after_a_restore(
    tmp_path: Path, empty_database: str, storage: Path
) -> None:
    fill()
    call_command("backup", tmp_path / "backup")
    judgment = Judgment.objects.select_related("study", "rater").first()
    assert judgment is not None
    erase(study=judgment.study, rater=judgment.rater, policy=Study.ErasurePolicy.DELETE)
    shutil.copytree(storage / "erasures", tmp_path / "new" / "files" / "erasures")
    done = restore(tmp_path / "backup", empty_database, tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert "Repeated 1 erasure " in done.stdout
    with psycopg.connect(empty_database) as database:
        left = database.execute("SELECT count(*) FROM annotator_judgment").fetchone()
    assert left == (10,)


def test_an_interrupted_restore_is_finished_before_anything_is_served(
    tmp_path: Path, empty_database: str, storage: Path
) -> None:
    """The rows are there, and somebody who was erased later with them, when the restore fails."""
    fill()
    call_command("backup", tmp_path / "backup")
    judgment = Judgment.objects.select_related("study", "rater").first()
    assert judgment is not None
    erase(study=judgment.study, rater=judgment.rater, policy=Study.ErasurePolicy.DELETE)
    new = tmp_path / "new"
    shutil.copytree(storage / "erasures", new / "files" / "erasures")
    damaged = new / "files" / "erasures" / "damaged.json"
    damaged.write_text("{")
    assert restore(tmp_path / "backup", empty_database, new).returncode != 0
    with psycopg.connect(empty_database) as database:
        assert database.execute("SELECT count(*) FROM annotator_judgment").fetchone() == (15,)
    serve = python("-m", "foretell.serve", "web", DATABASE_URL=empty_database, DATA_DIR=str(new))
    assert serve.returncode == 1
    assert "people who were erased may be in the database again" in serve.stderr
    doctor = python("manage.py", "doctor", "--json", DATABASE_URL=empty_database, DATA_DIR=str(new))
    assert [one for one in json.loads(doctor.stdout) if (one["name"], one["level"]) == ("restore", "error")]
    damaged.unlink()
    done = restore(tmp_path / "backup", empty_database, new)
    assert done.returncode == 0, done.stderr
    assert "Repeated 1 erasure " in done.stdout
    with psycopg.connect(empty_database) as database:
        assert database.execute("SELECT count(*) FROM annotator_judgment").fetchone() == (10,)
    assert not (new / "restore-unfinished.json").exists()


def test_an_interrupted_restore_never_goes_on_in_another_database(
    tmp_path: Path, empty_database: str
) -> None:
    fill()
    call_command("backup", tmp_path / "backup", only="database")
    (tmp_path / "new").mkdir()
    backup_digest = hashlib.sha256((tmp_path / "backup" / "manifest.json").read_bytes()).hexdigest()
    marker = {"backup": backup_digest, "database": "elsewhere:5432/foretell", "rows": True}
    (tmp_path / "new" / "restore-unfinished.json").write_text(json.dumps(marker))
    used = databases.address(connection.settings_dict["NAME"])
    refused = restore(tmp_path / "backup", used, tmp_path / "new")
    assert refused.returncode == 1
    assert "The database isn't empty" in refused.stderr
    done = restore(tmp_path / "backup", empty_database, tmp_path / "new")
    assert done.returncode == 0, done.stderr
    with psycopg.connect(empty_database) as database:
        assert database.execute("SELECT count(*) FROM annotator_judgment").fetchone() == (15,)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("No space left on device")])
def test_an_interrupted_backup_leaves_no_personal_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    fill()

    def fail(**about: object) -> None:
        assert list(tmp_path.rglob("annotator_judgment.copy.gz")), "the rows have been written"
        raise error

    monkeypatch.setattr(tarfile, "open", fail)  # with which the files would be written
    with pytest.raises((KeyboardInterrupt, OSError)):
        call_command("backup", tmp_path / "backup")
    assert list(tmp_path.glob("backup*")) == []


def test_every_foreign_key_can_be_checked_at_the_end_of_a_restore() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT conname FROM pg_constraint WHERE contype = 'f' AND NOT condeferrable")
        assert cursor.fetchall() == []


def schema() -> set[tuple[str, ...]]:
    """Every constraint and index of the database, by its name and definition."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE connamespace = current_schema()::regnamespace"
            " UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()"
        )
        return set(cursor.fetchall())


def test_large_tables_get_their_indexes_and_foreign_keys_after_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With them in place, Postgres would keep a check for each row and foreign key in memory until the end."""
    fill()
    url = databases.address(connection.settings_dict["NAME"])
    before, whole = contents(url), schema()
    call_command("backup", tmp_path / "backup", only="database")
    manifest = json.loads((tmp_path / "backup" / "manifest.json").read_text())
    monkeypatch.setattr(restoring, "LARGE", 15)
    checks = []
    real = restoring.table_restore

    def noted(cursor: Any, table: str, about: dict[str, Any], path: Path) -> None:
        if about["rows"] >= 15:
            kept = [
                one for one in schema() if one[0] == table and one[2].startswith(("FOREIGN KEY", "UNIQUE"))
            ]
            checks.append((table, kept))
        real(cursor, table, about, path)

    monkeypatch.setattr(restoring, "table_restore", noted)
    restoring._rows_restore(tmp_path / "backup" / "database", manifest)
    assert ("annotator_judgment", []) in checks
    assert all(kept == [] for _, kept in checks)
    assert (contents(url), schema()) == (before, whole)


def test_rows_of_a_large_table_that_refer_to_nothing_are_refused() -> None:
    fill()
    whole = schema()
    with pytest.raises(IntegrityError), transaction.atomic(), bare_tables(["annotator_judgment"]):
        Judgment.objects.update(rater=-1)
    assert schema() == whole
