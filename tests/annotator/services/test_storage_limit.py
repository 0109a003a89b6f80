"""A workspace's files within the storage that its operator gives it."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.workspace_use import files_of
from annotator.models import Export, FileImport, Study, User, Workspace
from annotator.selectors.storage import storage_check
from annotator.services.demo import demo_lines
from annotator.services.exports import export_build, export_request
from annotator.services.images import images_add
from annotator.services.imports.file_imports import file_import_request, material_options
from annotator.services.imports.pending_uploads import park
from annotator.services.study_copy import study_duplicate
from annotator.services.workspace import workspace_limits_set
from evaluation.models import Report
from evaluation.services.release import release_create
from tests.factories import make_judgment, make_rater, make_study
from tests.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(by=researcher, slug="owls", items=1)


@pytest.fixture
def lab(study: Study) -> Workspace:
    assert study.workspace is not None
    return study.workspace


def test_files_are_counted_by_kind(study: Study, lab: Workspace, researcher: User) -> None:
    content = picture()
    images_add(study=study, files=[("owl.png", content)], by=researcher)
    study_duplicate(study=study, by=researcher, slug="copy", title="Copy", material=True)
    export = export_request(study=study, by=researcher)
    export_build(export_pk=export.pk)
    waiting = park(study_pk=study.pk, user_pk=researcher.pk, file=io.BytesIO(b"x" * 1000), name="a.csv")
    file_import_request(
        study=study, by=researcher, kind=FileImport.Kind.MATERIAL, waiting=waiting,
        options=material_options(mapping={}, constants={}),
    )  # fmt: skip
    found = {name: size for name, size in files_of(lab.pk).items() if size}
    built = Export.objects.get(pk=export.pk).bytes
    assert found == {
        "images": len(content),
        "uploaded files that wait for their import": 1000,
        "exports": built,
    }


def test_nothing_more_is_stored_than_the_limit_allows(study: Study, lab: Workspace, researcher: User) -> None:
    workspace_limits_set(workspace=lab, by=researcher, storage_megabytes=1)
    storage_check(workspace=lab.pk, more=1024 * 1024)
    with pytest.raises(ValidationError, match="operator of this installation"):
        storage_check(workspace=lab.pk, more=1024 * 1024 + 1)
    big = io.BytesIO(b"x" * (1024 * 1024 + 1))
    waiting = park(study_pk=study.pk, user_pk=researcher.pk, file=big, name="a.csv")
    with pytest.raises(ValidationError, match=r"and what would be added has 1\.0"):
        file_import_request(
            study=study, by=researcher, kind=FileImport.Kind.MATERIAL, waiting=waiting,
            options=material_options(mapping={}, constants={}),
        )  # fmt: skip
    assert not FileImport.objects.exists()


def test_images_are_added_one_after_the_other_all_or_none(
    study: Study, lab: Workspace, researcher: User
) -> None:
    size = len(picture())
    files = [
        (f"owl-{number}.png", picture(colour)) for number, colour in enumerate(("black", "brown", "white"))
    ]
    images_add(study=study, files=iter(files), by=researcher)
    assert study.images.count() == 3
    study.images.all().delete()
    workspace_limits_set(workspace=lab, by=researcher, storage_megabytes=1)
    Export.objects.create(
        study=study, created_by=researcher, file="x", bytes=1024 * 1024 - size - 10, state="done"
    )
    with pytest.raises(ValidationError, match="what would be added has"):
        images_add(study=study, files=iter(files), by=researcher)
    assert not study.images.exists()


def test_a_full_workspace_is_told_so_everywhere(
    study: Study,
    lab: Workspace,
    researcher: User,
    client: Client,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client()
    client.force_login(researcher)
    report = Report.objects.create(
        study=study, state=Report.State.DONE, content={"tables": []}, finished_at=timezone.now()
    )
    export = export_request(study=study, by=researcher)
    export_build(export_pk=export.pk)
    Export.objects.filter(pk=export.pk).update(bytes=2 * 1024 * 1024)
    workspace_limits_set(workspace=lab, by=researcher, storage_megabytes=1)
    for refused in (
        lambda: images_add(study=study, files=[("owl.png", picture())], by=researcher),
        lambda: export_request(study=study, by=researcher),
        lambda: release_create(report=report, user=researcher),
    ):
        with pytest.raises(ValidationError, match="Delete images, exports or releases"):
            refused()
    assert not study.images.exists()
    assert study.exports.count() == 1
    sent = {"format": "csv", "form": "judgments"}
    api = client.post(f"/api/v1/studies/{study.slug}/exports/", sent)
    assert api.status_code == 400
    assert "operator" in api.content.decode()
    monkeypatch.setattr("annotator.admin.study_pages.exporting.STREAMED", 0)
    make_judgment(study.items.get(), make_rater("ann"), "yes")
    page = client.post(reverse("admin:study_exports", args=[study.pk]), sent)
    assert page.status_code == 400
    assert "operator" in page.content.decode()
    settings.IMPORT_BACKGROUND_BYTES = 10
    address = reverse("admin:annotator_study_import", args=[study.pk])
    rows = demo_lines(study.hit_type, 1)[0].encode()
    shown = client.post(address, {"file": SimpleUploadedFile("a.jsonl", rows)}).content.decode()
    ticket = re.search(r'name="ticket" value="([^"]+)"', shown)
    assert ticket is not None
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', shown))
    refused_page = client.post(address, fields | {"ticket": ticket[1], "import": "1"}, follow=True)
    assert "operator of this installation" in refused_page.content.decode()
    assert not FileImport.objects.exists()
