"""Releases on pages, by the API, by commands and in a job."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.jobs import lock_key
from annotator.models import AuditEntry, Participation, Study
from annotator.services.study import study_launch
from evaluation.models import Release, Report, SigningKey
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from evaluation.services import release as service
from evaluation.services.release import release_compute, release_create, releases_sweep
from tests.databases import address
from tests.evaluation.releases.releases import rebuilt
from tests.evaluation.reports.studies import client_of, small_study, stored
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db


def made(report: Report, **fields: Any) -> Release:
    release = release_create(report=report, send=False, **fields)
    assert release_compute(release_pk=release.pk)
    release.refresh_from_db()
    return release


def test_a_release_is_requested_built_and_downloaded() -> None:
    study = small_study()
    report = stored(study)
    client = client_of(study, role="editor")
    assert reverse("evaluation:releases", args=[report.pk]) in client.get(f"/reports/{report.pk}/").text
    page = client.get(f"/reports/{report.pk}/releases/")
    assert "Make the release" in page.text
    sent = client.post(f"/reports/{report.pk}/releases/", {"title": "Owls & more", "licence": "CC BY 4.0"})
    release = Release.objects.get()
    assert sent.headers["Location"] == f"/releases/{release.pk}/"
    waiting = client.get(f"/releases/{release.pk}/")
    assert "Waiting for a worker" in waiting.text
    assert release.key not in waiting.text
    assert client.get(f"/releases/{release.pk}/download/").status_code == 404, "not there yet"
    assert "HX-Refresh" not in client.get(f"/releases/{release.pk}/status/").headers
    release_compute(release_pk=release.pk)
    assert client.get(f"/releases/{release.pk}/status/").headers["HX-Refresh"] == "true"
    done = client.get(f"/releases/{release.pk}/")
    assert "Owls &amp; more" in done.text
    assert "of the report are the same when they are computed from the released data" in done.text
    assert SigningKey.objects.get().public in done.text
    archive = client.get(f"/releases/{release.pk}/download/")
    body = b"".join(archive.streaming_content)
    assert (
        archive.headers["Content-Disposition"]
        == f'attachment; filename="{study.slug}-release-{release.pk}.zip"'
    )
    opened = release_open(io.BytesIO(body))
    assert opened.manifest["licence"] == "CC BY 4.0"
    assert "# Owls & more" in zipfile.ZipFile(io.BytesIO(body)).read("README.md").decode()
    assert AuditEntry.objects.filter(action="people.exported", target=f"release {release.pk}").exists()
    assert AuditEntry.objects.filter(action="people.downloaded", target=f"release {release.pk}").exists()
    client.post(f"/releases/{release.pk}/delete/")
    assert not Release.objects.exists()


def test_who_may_do_what() -> None:
    study = small_study()
    release = made(stored(study))
    paths = {
        "read": [f"/reports/{release.report_id}/releases/", f"/releases/{release.pk}/", f"/releases/{release.pk}/status/",
                 f"/releases/{release.pk}/download/"],
        "write": [f"/reports/{release.report_id}/releases/", f"/releases/{release.pk}/delete/"],
    }  # fmt: skip
    for role in ("viewer", "reviewer"):
        client = client_of(study, role=role)
        assert {client.get(path).status_code for path in paths["read"]} == {200}
        assert {client.post(path).status_code for path in paths["write"]} == {404}
        assert "Make the release" not in client.get(paths["read"][0]).text
    stranger = client_of(small_study(), role="owner")
    assert {stranger.get(path).status_code for path in paths["read"]} == {404}
    assert {stranger.post(path).status_code for path in paths["write"]} == {404}
    assert {Client().get(path).status_code for path in paths["read"]} == {302}
    for path in (f"/api/v1/reports/{release.report_id}/releases/", f"/api/v1/releases/{release.pk}/"):
        assert stranger.get(path).status_code == 404
    assert Release.objects.count() == 1


def test_a_report_across_studies_needs_the_role_in_each() -> None:
    study, other = small_study(), small_study()
    report = stored(study)
    report.others.add(other)
    assert client_of(study, other).get(f"/reports/{report.pk}/releases/").status_code == 200
    assert client_of(study).get(f"/reports/{report.pk}/releases/").status_code == 404


def test_the_api_makes_a_release() -> None:
    study = small_study()
    report = stored(study)
    client = client_of(study)
    path = f"/api/v1/reports/{report.pk}/releases/"
    refused = client.post(path, {"attributes": ["age"]}, content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["errors"] == {"attributes": ["No rater has 'age'. Attributes of raters: none."]}
    sent = client.post(path, {"title": "Owls"}, content_type="application/json")
    assert sent.status_code == 202
    pk = sent.json()["id"]
    release_compute(release_pk=pk)
    found = client.get(f"/api/v1/releases/{pk}/").json()
    assert found["state"] == "done"
    assert found["findings"]["differing"] == 0
    assert "key" not in found
    body = b"".join(client.get(f"/api/v1/releases/{pk}/download/").streaming_content)
    assert len(body) == found["bytes"]
    assert [one["id"] for one in client.get(path).json()] == [pk]
    assert client.delete(f"/api/v1/releases/{pk}/").status_code == 204
    assert client.get(f"/api/v1/releases/{pk}/").status_code == 404


def test_commands_release_and_reproduce(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, file = stored(small_study(), replicates=100), tmp_path / "owls.zip"
    call_command("release", str(report.pk), "--output", str(file), "--title", "Owls")
    said = capsys.readouterr().out
    assert f"{file}: {file.stat().st_size:,} bytes, SHA-256" in said
    call_command("reproduce", str(file), "--output", str(tmp_path / "again.json"))
    assert "were reproduced to the last digit." in capsys.readouterr().out
    assert json.loads((tmp_path / "again.json").read_text())["sections"]
    with pytest.raises(CommandError, match="no report has the number 999999"):
        call_command("release", "999999", "--output", str(file))
    (tmp_path / "x.zip").write_text("no")
    with pytest.raises(CommandError, match="this is not a release"):
        call_command("reproduce", str(tmp_path / "x.zip"))
    with pytest.raises(CommandError, match="No such file"):
        call_command("reproduce", str(tmp_path / "none.zip"))


def test_a_value_that_cannot_be_reproduced_is_an_error(tmp_path: Path) -> None:
    report, file = stored(small_study()), tmp_path / "owls.zip"
    call_command("release", str(report.pk), "--output", str(file))

    def changed(files: dict[str, bytes]) -> None:
        name = "tables/judgment.jsonl"
        files[name] = files[name].replace(b'"answer":"yes"', b'"answer":"no"')

    forged = rebuilt(io.BytesIO(file.read_bytes()), changed, manifest=True)
    file.write_bytes(forged.getvalue())
    with pytest.raises(CommandError, match=r"could not be reproduced\.\n.*became"):
        call_command("reproduce", str(file))


def test_a_labs_releases_are_signed_with_its_own_key(settings: Any) -> None:
    first, second, other = made(stored(small_study())), made(stored(small_study())), make_study()
    Study.objects.filter(pk=second.report.study_id).update(workspace=other.workspace)
    keys = []
    for release in (first, made(first.report), made(Report.objects.get(pk=second.report_id))):
        with default_storage.open(release.file) as file:
            archive = io.BytesIO(file.read())
        keys.append(zipfile.ZipFile(archive).read("signing-key.pem"))
        key = client_of(release.report.study).get(f"/api/v1/releases/{release.pk}/").json()["signing_key"]
        assert release_reproduce(release_open(archive), key=key).problems == []
    assert keys[0] == keys[1]
    old = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a new secret key of the server", [old]
    with pytest.raises(CommandError, match="Run rotate_keys"):
        call_command("rotate_keys", "--check")
    call_command("rotate_keys")
    settings.SECRET_KEY_FALLBACKS = []
    assert made(first.report).state == "done", "it is signed with the same key"
    settings.SECRET_KEY = "another one"
    lost = release_create(report=first.report, send=False)
    release_compute(release_pk=lost.pk)
    lost.refresh_from_db()
    assert "SECRET_KEY_FALLBACKS" in lost.error


def test_a_release_that_fails_says_why_and_leaves_no_file() -> None:
    report = stored(small_study())
    assert report.content is not None
    report.content["choices"]["encoder"] = "endpoint:ours"
    report.save()
    release = made(report)
    assert release.state == "failed"
    assert "Compute a report with another encoder" in release.error
    assert release.file == ""
    assert "The release could not be made" in client_of(report.study).get(f"/releases/{release.pk}/").text


def test_a_job_called_twice_builds_once() -> None:
    release = made(stored(small_study()))
    file = release.file
    assert release_compute(release_pk=release.pk) is False
    release.refresh_from_db()
    assert release.file == file


def test_the_sweeper_finishes_lost_jobs_and_deletes_files_without_a_release(
    monkeypatch: pytest.MonkeyPatch, queued: list[tuple[str, dict[str, object]]]
) -> None:
    done = made(stored(small_study()))
    lost = release_create(report=done.report, send=False)
    Release.objects.filter(pk=lost.pk).update(created_at=timezone.now() - timedelta(minutes=5))
    killed = release_create(report=done.report, send=False)
    Release.objects.filter(pk=killed.pk).update(
        state="running", started_at=timezone.now() - timedelta(minutes=5)
    )
    release_create(report=done.report, send=False)  # only just requested
    orphan = default_storage.save("releases/orphan.zip", ContentFile(b"x"))
    queued.clear()
    assert releases_sweep() == 2
    assert [name for name, _ in queued] == ["evaluation.release_build"] * 2
    assert {arguments["release_pk"] for _, arguments in queued} == {lost.pk, killed.pk}
    assert default_storage.exists(orphan), "it may be a release that is being stored"
    monkeypatch.setattr(service, "ORPHANED_AFTER", timedelta(seconds=-60))
    releases_sweep()
    assert not default_storage.exists(orphan)
    assert default_storage.exists(done.file)


def test_the_sweeper_leaves_files_of_a_study_that_is_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = default_storage.save("releases/waiting.zip", ContentFile(b"x"))
    monkeypatch.setattr(service, "ORPHANED_AFTER", timedelta(seconds=-60))
    with psycopg.connect(address(connection.settings_dict["NAME"])) as importing:
        importing.execute("SELECT pg_advisory_xact_lock_shared(%s)", [lock_key(service.STORING)])
        releases_sweep()
        assert default_storage.exists(waiting)
    releases_sweep()
    assert not default_storage.exists(waiting)


def test_ids_are_not_offered_as_attributes() -> None:
    study = small_study()
    study_launch(study=study)
    study.refresh_from_db()
    for number in range(6):
        participation = make_participation(study)
        Participation.objects.filter(pk=participation.pk).update(
            join_parameters={"SESSION_ID": f"s{number}", "age": str(30 + number % 2)}
        )
    page = client_of(study).get(f"/reports/{stored(study).pk}/releases/").text
    assert 'value="age"' in page
    assert "SESSION_ID" not in page
