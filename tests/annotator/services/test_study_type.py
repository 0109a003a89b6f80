"""A draft study moves to a newer version of its workspace's HIT type by one action."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotator.hit_types.declaration.gallery import GALLERY
from annotator.models import AuditEntry, Item, Study
from annotator.selectors.declared_type import version_newer
from annotator.selectors.study import study_hit_type
from annotator.services.declared_type import declared_type_save, source_renamed
from annotator.services.study import study_create, study_launch
from annotator.services.study_type import study_newest_type
from annotator.services.workspace import workspace_personal
from tests.factories import make_user

pytestmark = pytest.mark.django_db
FILE = source_renamed((GALLERY / "offensiveness.yaml").read_text(encoding="utf-8"), "offence")


def test_a_draft_gets_the_newer_version_unless_an_item_does_not_fit() -> None:
    rita = make_user("rita", staff=True)
    workspace = workspace_personal(user=rita)
    declared_type_save(workspace=workspace, by=rita, source=FILE)
    study = study_create(by=rita, hit_type="offence", slug="rude", title="Rude", workspace=workspace)
    payload = study_hit_type(study).exam[0].payload
    Item.objects.create(study=study, key="a", payload=payload, gold={"target": "nobody"})
    assert version_newer(study) is None
    with pytest.raises(ValidationError, match="uses the latest version"):
        study_newest_type(study=study)

    refused = FILE.replace("nobody", "no_one")
    latest = declared_type_save(workspace=workspace, by=rita, source=refused)
    with pytest.raises(ValidationError, match="Item a: its correct answer doesn't fit"):
        study_newest_type(study=study)
    assert Study.objects.get(pk=study.pk).declaration_id != latest.declaration_id

    latest = declared_type_save(
        workspace=workspace, by=rita, source=FILE.replace("Only a fool", "Just a fool")
    )
    client = Client()
    client.force_login(rita)
    page = client.get(reverse("admin:study_manage", args=[study.pk])).content.decode()
    assert "Use version 3" in page
    client.post(reverse("admin:study_newest_type", args=[study.pk]))
    study.refresh_from_db()
    assert study.declaration_id == latest.declaration_id
    assert study.questionnaire_before.count("foretell_questionnaire: 1") == 2, "the type's defaults"
    entry = AuditEntry.objects.filter(action="study.changed").latest("pk")
    assert entry.actor_id == rita.pk
    study_launch(study=study)
    declared_type_save(workspace=workspace, by=rita, source=FILE)
    with pytest.raises(ValidationError, match="launched with its version"):
        study_newest_type(study=study)
