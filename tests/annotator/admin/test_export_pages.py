"""Judgments are downloaded at once, or built into a file by a job."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotator.models import Export, Membership, Study, User
from tests.annotator.admin.study_forms import ROOT, page
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


def test_small_exports_are_downloaded_at_once(researcher_client: Client, judged_study: Study) -> None:
    choice = {"form": "ratings", "format": "csv", "rater_kind": "human", "excluded": ""}
    reply = researcher_client.post(f"{ROOT}{judged_study.pk}/exports/", choice)
    assert reply["Location"].endswith("/download/?form=ratings&format=csv&rater_kind=human")
    content: Any = researcher_client.get(reply["Location"])
    assert b"".join(content.streaming_content).count(b"simulation") == 4
    assert (
        researcher_client.post(f"{ROOT}{judged_study.pk}/exports/", choice | {"format": "xlsx"}).status_code
        == 400
    )


def test_large_exports_are_built_by_a_job(
    researcher_client: Client,
    judged_study: Study,
    researcher: User,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    from annotator.services.exports import export_build

    monkeypatch.setattr("annotator.admin.study_pages.exporting.STREAMED", 3)
    monkeypatch.setattr("annotator.core.jobs.enqueue", lambda name, **ids: export_build(**ids))
    assert researcher_client.get(f"{ROOT}{judged_study.pk}/download/").status_code == 302
    with django_capture_on_commit_callbacks(execute=True):
        researcher_client.post(f"{ROOT}{judged_study.pk}/exports/", {"form": "judgments", "format": "jsonl"})
    export = Export.objects.get()
    assert f"exports/{export.pk}/" in page(researcher_client, f"{judged_study.pk}/exports/")
    file: Any = researcher_client.get(f"{ROOT}{judged_study.pk}/exports/{export.pk}/")
    assert b"".join(file.streaming_content)[:2] == b"\x1f\x8b"
    otto = make_user("otto", staff=True)
    Membership.objects.create(study=judged_study, user=otto, role="owner")
    client = Client()
    client.force_login(otto)
    assert client.get(f"{ROOT}{judged_study.pk}/exports/{export.pk}/").status_code == 404, (
        "only for who asked"
    )
