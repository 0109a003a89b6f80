"""Large files: uploads in pieces; imports by a worker with progress, all or nothing, cancelled or resumed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from annotator.core import jobs
from annotator.models import AuditEntry, FileImport, Item, Judgment, Study, User
from annotator.services.imports import file_imports, pending_uploads
from annotator.services.imports.file_imports import (
    file_import_cancel,
    file_import_request,
    file_import_run,
    file_imports_sweep,
    judgments_options,
    material_options,
)
from annotator.services.imports.material_import import material_import
from annotator.services.imports.pending_uploads import (
    Parked,
    park,
    pending_uploads_sweep,
    upload_add,
    upload_begin,
    upload_end,
    upload_received,
)
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from annotator.services.study import study_create
from annotator.tasks import file_import_run_task
from tests.annotator.services.imports.material_files import material
from tests.annotator.services.imports.material_rows import ROW
from tests.factories import make_item, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _small_files_are_large(settings: Any, stored_files: Path) -> None:
    settings.IMPORT_BACKGROUND_BYTES = 500


@pytest.fixture
def ada() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def study(ada: User) -> Study:
    return study_create(by=ada, hit_type="simulation", slug="owls", title="Owls")


def requested(study: Study, by: User, data: bytes = b"", **options: Any) -> FileImport:
    waiting = park(study_pk=study.pk, user_pk=by.pk, file=io.BytesIO(data or material()), name="m.jsonl")
    chosen = material_options(mapping={}, constants={}, **options)
    return file_import_request(study=study, by=by, kind="material", waiting=waiting, options=chosen)


def files() -> list[str]:
    return default_storage.listdir("imports")[1]


# -- the job ----------------------------------------------------------------------------------------------------


def test_a_worker_imports_the_file_and_records_the_result(study: Study, ada: User, queued: list[Any]) -> None:
    job = requested(study, ada)
    assert queued == [("annotator.file_import_run", {"file_import_pk": job.pk})]
    assert file_import_run_task(file_import_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, job.percent, job.result["items"]) == ("done", 100, 20)
    assert study.items.count() == 20
    assert files() == [], "the upload isn't kept"
    assert AuditEntry.objects.filter(action="items.imported").latest("pk").actor_id == ada.pk
    assert not file_import_run_task(file_import_pk=job.pk), "called twice, it does nothing"
    assert study.items.count() == 20


def test_one_invalid_row_refuses_the_file_and_all_problems_can_be_downloaded(
    study: Study, ada: User, queued: list[Any]
) -> None:
    rows = b"".join(material(1, key=f"k{n}", answer="maybe") for n in range(150))
    job = requested(study, ada, rows)
    file_import_run(file_import_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, job.problem_count, len(job.problems)) == ("refused", 150, 100)
    assert job.problems[0]["line"] == 1
    assert not Item.objects.exists()
    client = Client()
    client.force_login(ada)
    path = f"/admin/annotator/study/{study.pk}/imports/{job.pk}/"
    listed = b"".join(client.get(f"{path}problems.csv")).decode().splitlines()  # type: ignore[call-overload]
    assert listed[0] == "line,column,value,problem"
    assert len(listed) == 151
    assert listed[150].startswith("150,answer,maybe,")
    page = client.get(path).content.decode()
    assert "150 problems. Nothing was stored" in page
    assert "problems.csv" in page


def test_a_worker_imports_judgments_too(ada: User, queued: list[Any]) -> None:
    study = make_study(by=ada)
    for n in range(3):
        make_item(study, key=f"k{n}")
    text = "key,who,helpful\n" + "".join(f"k{n},kim,no\n" for n in range(3))
    columns = JudgmentColumns("key", (ValueColumn("helpful", "helpful"),), rater="who")
    waiting = park(study_pk=study.pk, user_pk=ada.pk, file=io.BytesIO(text.encode()), name="j.csv")
    job = file_import_request(
        study=study, by=ada, kind="judgments", waiting=waiting, options=judgments_options(columns)
    )
    file_import_run(file_import_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, job.result.get("judgments"), job.problems) == ("done", 3, [])
    assert Judgment.objects.filter(study=study).count() == 3


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch, see: Any) -> Iterator[None]:
    """Report after each read of the file, and then call ``see``."""
    monkeypatch.setattr(file_imports, "EVERY_SECONDS", 0)
    report = file_imports._Reading.report

    def reported(self: Any) -> None:
        report(self)
        # As somebody else sees it: the import's own connection is busy with its rows.
        with ThreadPoolExecutor(max_workers=1) as pool:
            pool.submit(lambda: (see(), connection.close())).result()

    monkeypatch.setattr(file_imports._Reading, "report", reported)
    yield


def test_progress_can_be_seen_while_the_file_is_read(
    study: Study, ada: User, queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = requested(study, ada, material(2000))
    seen: list[int] = []
    with watched(monkeypatch, lambda: seen.append(FileImport.objects.get(pk=job.pk).percent)):
        file_import_run(file_import_pk=job.pk)
    assert seen[0] < 50 < seen[-1]
    assert study.items.count() == 2000


def test_a_cancelled_import_stores_nothing(
    study: Study, ada: User, queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = requested(study, ada, material(2000))
    with watched(monkeypatch, lambda: file_import_cancel(file_import=job)):
        file_import_run(file_import_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, Item.objects.count(), files()) == ("cancelled", 0, [])
    assert not file_import_cancel(file_import=job)


def test_a_waiting_import_is_cancelled_at_once(study: Study, ada: User, queued: list[Any]) -> None:
    job = requested(study, ada)
    client = Client()
    client.force_login(ada)
    assert client.post(f"/admin/annotator/study/{study.pk}/imports/{job.pk}/").status_code == 302
    assert not file_import_run(file_import_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, Item.objects.count(), files()) == ("cancelled", 0, [])


def test_a_killed_worker_has_changed_nothing_and_the_sweeper_queues_the_import_again(
    study: Study, ada: User, queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = requested(study, ada)

    class Killed(BaseException):
        pass

    def killed(**about: Any) -> None:
        material_import(**about)
        assert Item.objects.exists(), "the rows have been written, and not yet committed"
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(file_imports, "material_import", killed)
        with pytest.raises(Killed):
            file_import_run(file_import_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, Item.objects.count(), len(files())) == ("running", 0, 1)
    FileImport.objects.update(created_at=timezone.now() - timedelta(hours=7))
    assert pending_uploads_sweep() == 0, "the file is still needed"
    queued.clear()
    assert file_imports_sweep() == 1
    assert queued == [("annotator.file_import_run", {"file_import_pk": job.pk})]
    assert file_import_run(file_import_pk=job.pk)
    assert study.items.count() == 20


def test_two_workers_do_not_import_the_same_file(study: Study, ada: User, queued: list[Any]) -> None:
    job = requested(study, ada)
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [jobs.lock_key("file import", job.pk)])
        assert not file_import_run(file_import_pk=job.pk)
        cursor.execute("SELECT pg_advisory_unlock(%s)", [jobs.lock_key("file import", job.pk)])
    other.close()
    assert file_import_run(file_import_pk=job.pk)


def test_a_failed_import_reports_its_error(
    study: Study, ada: User, queued: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    job = requested(study, ada)
    default_storage.delete(job.file)
    file_import_run(file_import_pk=job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert "FileNotFoundError" in job.error
    assert f"import {job.pk} failed" in caplog.text


# -- pieces ---------------------------------------------------------------------------------------------------------


def begun(study: Study, ada: User) -> Parked:
    return upload_begin(study_pk=study.pk, user_pk=ada.pk, name="m.jsonl")


def add(upload: Parked, offset: int, data: bytes) -> int:
    return upload_add(upload=upload, offset=offset, piece=io.BytesIO(data), most=100)


def test_pieces_are_joined_even_if_one_is_sent_twice(study: Study, ada: User) -> None:
    upload = begun(study, ada)
    assert add(upload, 0, b"abc") == 3
    assert add(upload, 3, b"de") == 5
    assert add(upload, 3, b"de") == 5
    upload_end(upload=upload, size=5)
    upload_end(upload=upload, size=5)
    with upload.open() as file:
        assert file.read() == b"abcde"
    assert upload.size == 5


def test_gaps_and_too_many_bytes_are_refused(study: Study, ada: User) -> None:
    upload = begun(study, ada)
    add(upload, 0, b"abc")
    with pytest.raises(ValueError, match="expected the piece at 3"):
        add(upload, 4, b"x")
    with pytest.raises(ValueError, match="at most 100 bytes"):
        add(upload, 3, b"x" * 98)
    with pytest.raises(ValueError, match="3 of 4 bytes"):
        upload_end(upload=upload, size=4)
    assert upload_received(upload) == 3


def test_pieces_of_an_abandoned_upload_are_removed(
    study: Study, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(begun(study, ada), 0, b"abc")
    assert pending_uploads_sweep() == 0
    monkeypatch.setattr(pending_uploads, "HOURS", 0)
    assert pending_uploads_sweep() == 1


# -- the pages and the API -------------------------------------------------------------------------------------------


def test_the_page_imports_a_large_file_in_the_background(study: Study, ada: User, queued: list[Any]) -> None:
    client = Client()
    client.force_login(ada)
    path = f"/admin/annotator/study/{study.pk}/import/"
    page = client.post(path, {"file": SimpleUploadedFile("m.jsonl", material())})
    assert "in the background" in page.content.decode()
    assert not FileImport.objects.exists()
    ticket = page.context["ticket"]
    columns = {f"column-{name}": name for name in ROW}
    handed = client.post(path, {"ticket": ticket, "import": "1", **columns})
    job = FileImport.objects.get()
    assert handed["Location"] == f"/admin/annotator/study/{study.pk}/imports/{job.pk}/"
    assert "Waiting for a worker" in client.get(handed["Location"]).content.decode()
    file_import_run(file_import_pk=job.pk)
    assert "Imported 20 items from 20 rows" in client.get(handed["Location"]).content.decode()
    assert "m.jsonl" in client.get(path).content.decode(), "the import is found again from the page"


def test_the_page_accepts_pieces(study: Study, ada: User) -> None:
    client = Client()
    client.force_login(ada)
    path = f"/admin/annotator/study/{study.pk}/import/upload/"
    ticket = client.post(f"{path}?name=m.jsonl").json()["ticket"]
    data = material()
    for offset in range(0, len(data), 1000):
        piece = data[offset : offset + 1000]
        sent = client.post(
            f"{path}?ticket={ticket}&offset={offset}", piece, content_type="application/octet-stream"
        )
        assert sent.json() == {"received": offset + len(piece)}
    ended = client.post(f"{path}?ticket={ticket}&size={len(data)}&to=material").json()
    assert "Columns" in client.get(ended["next"]).content.decode()
    other = Client()
    other.force_login(make_user("bob", staff=True))
    assert other.post(f"{path}?ticket={ticket}&offset=0").status_code == 404
    assert client.post(f"{path}?ticket=x&offset=0").status_code == 404
    assert client.post(f"{path}?ticket={ticket}&offset=minus").status_code == 409


@pytest.fixture
def api(ada: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(ada)
    return client


def test_the_api_accepts_pieces_and_reports_progress(study: Study, api: APIClient, queued: list[Any]) -> None:
    root, data = f"/api/v1/studies/{study.slug}", material()
    begun = api.post(f"{root}/uploads/", {"name": "m.jsonl"}, format="json").json()
    for offset in range(0, len(data), 1500):
        sent = api.put(
            f"{root}/uploads/pieces/?upload={begun['upload']}&offset={offset}",
            data[offset : offset + 1500],
            content_type="application/octet-stream",
        )
        assert sent.status_code == 200, sent.content
    asked = api.post(f"{root}/material/", {"upload": begun["upload"], "size": len(data)}, format="json")
    assert asked.status_code == 202, asked.content
    address = f"/api/v1/imports/{asked.json()['id']}/"
    assert api.get(address).json()["state"] == "queued"
    file_import_run(file_import_pk=asked.json()["id"])
    done = api.get(address).json()
    assert (done["state"], done["bytes_read"], done["result"]["items"]) == ("done", len(data), 20)
    assert api.post(f"{address}cancel/").status_code == 409
    assert api.get(f"{address}problems/").status_code == 404


def test_a_large_body_is_imported_by_a_worker_and_a_dry_run_at_once(
    study: Study, api: APIClient, queued: list[Any]
) -> None:
    path = f"/api/v1/studies/{study.slug}/material/"
    tried = api.post(f"{path}?dry_run=true", material(), content_type="application/x-ndjson")
    assert (tried.status_code, tried.json()["items"]) == (200, 20)
    assert api.post(path, material(), content_type="application/x-ndjson").status_code == 202
    file_import_run(file_import_pk=FileImport.objects.get().pk)
    assert study.items.count() == 20


def test_incomplete_and_foreign_uploads_are_refused(study: Study, api: APIClient) -> None:
    path = f"/api/v1/studies/{study.slug}/material/"
    assert api.post(path, {"upload": "x", "size": 3}, format="json").status_code == 400
    ticket = api.post(f"/api/v1/studies/{study.slug}/uploads/", {"name": "m.jsonl"}, format="json").json()[
        "upload"
    ]
    refused = api.post(path, {"upload": ticket, "size": 3}, format="json")
    assert "0 of 3 bytes" in refused.content.decode()
    assert api.post(path, {}, format="json").status_code == 400


def test_the_file_of_a_refused_import_is_deleted(study: Study, ada: User, queued: list[Any]) -> None:
    job = requested(study, ada, material(20, answer="maybe"))
    file_import_run(file_import_pk=job.pk)
    assert files() == []
    default_storage.save("imports/other", ContentFile(b"x"))
    FileImport.objects.update(created_at=timezone.now() - timedelta(days=15))
    file_imports_sweep()
    assert not FileImport.objects.exists()
    assert default_storage.listdir("imports-problems")[1] == []
