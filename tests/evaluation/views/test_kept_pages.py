"""Studies in files on pages and over the API: who may, what is asked, and that the key is gone once the job has ended."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from annotator.models import AuditAction, AuditEntry, Membership, Study, User, WorkspaceMember
from annotator.services.study_removal import study_archive, study_unarchive
from annotator.services.workspace import workspace_create
from evaluation.models import KeptJob, KeptStudy, Release
from evaluation.moves.kept_jobs import keep_request, kept_job_run, kept_jobs_sweep
from tests.evaluation.reports.studies import small_study, stored
from tests.factories import make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]
PASSPHRASE = "correct horse battery"
Queued = list[tuple[str, dict[str, object]]]


@pytest.fixture
def ada() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def study(ada: User) -> Study:
    return study_archive(
        study=small_study(workspace=workspace_create(by=ada, name="Owls"), slug="owls"), anyway=True
    )


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def run_jobs() -> None:
    for job in KeptJob.objects.filter(state="queued"):
        assert kept_job_run(job_pk=job.pk)
        assert not kept_job_run(job_pk=job.pk), "a second call changes nothing"
        job.refresh_from_db()
        assert (job.sealed, job.upload) == ("", "")


def kept(study: Study, user: User) -> KeptStudy:
    keep_request(study=study, by=user, passphrase=PASSPHRASE)
    run_jobs()
    return KeptStudy.objects.get()


def test_an_owner_keeps_a_study_downloads_it_and_brings_it_back(
    ada: User,
    study: Study,
    queued: Queued,
    stored_files: Path,
    django_capture_on_commit_callbacks: Any,
) -> None:
    client, address, judgments = browser(ada), f"/studies/{study.pk}/keep/", study.judgments.count()
    assert address in client.get(f"/admin/annotator/study/{study.pk}/manage/").content.decode()
    assert client.post(address, {"passphrase": PASSPHRASE, "again": "another"}).status_code == 422
    short = client.post(address, {"passphrase": "owls", "again": "owls"})
    assert "expected at least 12 characters" in short.content.decode()
    sent = client.post(address, {"passphrase": PASSPHRASE, "again": PASSPHRASE})
    assert sent.status_code == 302
    assert PASSPHRASE not in str(KeptJob.objects.values_list()), (
        "it is stored encrypted, and only until the job has ended"
    )
    assert "Waiting for a worker" in client.get(sent["Location"]).content.decode()
    assert client.get(address)["Location"] == sent["Location"], "a job works on it already"
    run_jobs()
    assert not Study.objects.filter(pk=study.pk).exists()
    assert "Download the file" in client.get(sent["Location"]).content.decode()
    one = KeptStudy.objects.get()
    file = b"".join(client.get(f"/studies/kept/{one.pk}/download/").streaming_content)  # type: ignore[attr-defined]
    assert len(file) == one.bytes
    assert AuditEntry.objects.filter(action=AuditAction.DOWNLOADED, target="kept study owls").exists()
    listed = client.get("/studies/kept/").content.decode()
    assert f"/studies/kept/{one.pk}/bring-back/" in listed
    assert client.post(f"/studies/kept/{one.pk}/delete-file/").status_code == 404, "it is the only copy"
    make_study(slug="owls")
    back = f"/studies/kept/{one.pk}/bring-back/"
    refused = client.post(back, {"passphrase": PASSPHRASE})
    assert "Another study is named owls" in refused.content.decode()
    client.post(back, {"passphrase": "not the passphrase", "slug": "owls-2"})
    run_jobs()
    failed = KeptJob.objects.latest("pk")
    assert failed.state == "failed"
    assert "is not the one" in client.get(f"/studies/kept/jobs/{failed.pk}/").content.decode()
    upload = SimpleUploadedFile("owls.foretell", file)
    assert client.post(back, {"passphrase": PASSPHRASE, "slug": "owls-2", "file": upload}).status_code == 302
    run_jobs()
    again = Study.objects.get(slug="owls-2")
    assert (again.pk, again.judgments.count(), bool(again.archived_at)) == (study.pk, judgments, True)
    listed = client.get("/studies/kept/").content.decode()
    assert "No studies in files" in listed
    assert "Failed in" not in listed, "it has been brought back since"
    assert "Files of studies that are back" in listed
    eve, delete = browser(make_user("eve", staff=True)), f"/studies/kept/{one.pk}/delete-file/"
    assert (eve.post(delete).status_code, client.get(delete).status_code) == (404, 405)
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(delete).status_code == 302
    assert not list((stored_files / "kept-studies").iterdir())
    assert "that are back" not in client.get("/studies/kept/").content.decode()
    assert client.delete(f"/api/v1/kept-studies/{one.pk}/file/").status_code == 404
    assert AuditEntry.objects.filter(action=AuditAction.KEPT_FILE_DELETED).count() == 1


def test_the_api_does_the_same(ada: User, study: Study, queued: Queued) -> None:
    client = APIClient()
    client.force_login(ada)
    assert (
        client.post("/api/v1/studies/owls/keep/", {"passphrase": "short"}, format="json").status_code == 400
    )
    sent = client.post("/api/v1/studies/owls/keep/", {"passphrase": PASSPHRASE}, format="json")
    assert (sent.status_code, sent.json()["state"]) == (202, "queued")
    run_jobs()
    [one] = client.get("/api/v1/kept-studies/").json()
    assert (one["slug"], one["stored"], one["people"]) == ("owls", True, 0)
    assert "place" not in one, "where files are on the server is nobody's business"
    assert client.get(f"/api/v1/kept-studies/{one['id']}/download/").status_code == 200
    started = client.post(
        f"/api/v1/kept-studies/{one['id']}/bring-back/", {"passphrase": PASSPHRASE}, format="json"
    )
    assert started.status_code == 202
    run_jobs()
    assert client.get(f"/api/v1/kept-jobs/{started.json()['id']}/").json()["state"] == "done"
    assert Study.objects.get(slug="owls").pk == study.pk


def test_only_owners_of_the_workspace_may(ada: User, study: Study, queued: Queued) -> None:
    one = kept(study, ada)
    job = KeptJob.objects.get()
    other = study_archive(study=make_study(workspace=one.workspace, slug="other"), anyway=True)
    eve, max_ = make_user("eve", staff=True), make_user("max", staff=True)
    assert one.workspace is not None
    WorkspaceMember.objects.create(workspace=one.workspace, user=eve, role="editor")
    Membership.objects.create(study=other, user=max_, role="owner")
    addresses = (
        f"/studies/{other.pk}/keep/", f"/studies/kept/{one.pk}/download/", f"/studies/kept/{one.pk}/bring-back/",
        f"/studies/kept/jobs/{job.pk}/", f"/studies/kept/jobs/{job.pk}/status/", f"/api/v1/kept-studies/{one.pk}/",
        f"/api/v1/kept-studies/{one.pk}/download/", f"/api/v1/kept-jobs/{job.pk}/",
    )  # fmt: skip
    for user in (eve, max_):
        assert [browser(user).get(address).status_code for address in addresses] == [404] * len(addresses)
        assert (
            browser(user).post("/api/v1/studies/other/keep/", {"passphrase": PASSPHRASE}).status_code == 404
        )
        assert "owls" not in browser(user).get("/studies/kept/").content.decode()
        assert browser(user).get("/api/v1/kept-studies/").json() == []
    assert [browser(ada).get(address).status_code for address in addresses] == [200] * len(addresses)


def test_what_would_be_lost_is_asked_first_and_one_job_works_on_a_study(
    ada: User, study: Study, queued: Queued
) -> None:
    Release.objects.create(report=stored(study), state="review", key="k")
    client, address = browser(ada), f"/studies/{study.pk}/keep/"
    sent: dict[str, Any] = {"passphrase": PASSPHRASE, "again": PASSPHRASE}
    assert "unfinished or on several studies" in client.post(address, sent).content.decode()
    assert client.post(address, sent | {"without_releases": "on"}).status_code == 302
    assert (
        "already working on this study"
        in client.post(address, sent | {"without_releases": "on"}).content.decode()
    )
    study_unarchive(study=study)
    run_jobs()
    job = KeptJob.objects.get()
    assert (job.state, "archive it first" in job.error) == ("failed", True)
    assert Study.objects.filter(pk=study.pk).exists()


def test_a_job_whose_worker_was_killed_after_its_work_is_done(
    ada: User, study: Study, queued: Queued
) -> None:
    one = kept(study, ada)
    KeptJob.objects.update(state="running", kept=None, started_at="2026-01-01T00:00Z")
    queued.clear()
    assert kept_jobs_sweep() == 1
    job = KeptJob.objects.get()
    assert queued == [("evaluation.kept_job_run", {"job_pk": job.pk})]
    assert kept_job_run(job_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, job.kept) == ("done", one)


def test_what_a_killed_worker_left_is_removed(
    ada: User, study: Study, queued: Queued, stored_files: Path
) -> None:
    """Its files are complete, but the study's rows are still there; or an upload has no job any more."""
    job = keep_request(study=study, by=ada, passphrase=PASSPHRASE)
    left = stored_files / "kept-studies" / "owls-left.foretell"
    left.parent.mkdir()
    left.write_bytes(b"complete")
    left.with_name("owls-left.foretell.partial").write_bytes(b"half")
    KeptJob.objects.filter(pk=job.pk).update(state="running", writes="kept-studies/owls-left.foretell")
    uploads = stored_files / "kept-studies-uploads"
    uploads.mkdir()
    for name, hours in (("needed", 2), ("old", 2), ("new", 0)):
        (uploads / name).write_bytes(b"x")
        at = time.time() - 3600 * hours
        os.utime(uploads / name, (at, at))
    KeptJob.objects.filter(pk=job.pk).update(upload="kept-studies-uploads/needed")
    kept_jobs_sweep()
    assert sorted(path.name for path in uploads.iterdir()) == ["needed", "new"]
    assert kept_job_run(job_pk=job.pk)
    one = KeptStudy.objects.get()
    assert [path.name for path in left.parent.iterdir()] == [Path(one.file).name]
    assert not (uploads / "needed").exists()


def test_a_job_that_failed_stays_on_the_list_for_a_week(ada: User, study: Study, queued: Queued) -> None:
    keep_request(study=study, by=ada, passphrase=PASSPHRASE)
    study_unarchive(study=study)
    run_jobs()
    shown = browser(ada).get("/studies/kept/").content.decode()
    assert "Failed in the last seven days" in shown
    KeptJob.objects.update(finished_at="2026-01-01T00:00Z")
    assert "Failed" not in browser(ada).get("/studies/kept/").content.decode()
