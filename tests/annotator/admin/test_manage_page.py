"""The pages for managing a study: change its items, duplicate, archive, delete and restore it."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.test import Client

from annotator.models import Item, Membership, Study, User
from annotator.services.study import study_close, study_update
from tests.factories import make_study, make_user, simulation_payload

pytestmark = pytest.mark.django_db


def url(study: Study, rest: str) -> str:
    return f"/admin/annotator/study/{study.pk}/{rest}"


def sent(payload: dict[str, str], **more: Any) -> dict[str, Any]:
    return {f"payload-{name}": value for name, value in payload.items()} | more


def text(reply: Any) -> str:
    return unescape(" ".join(reply.content.decode().split()))


def test_an_item_of_a_draft_is_edited_and_deleted(researcher_client: Client, researcher: User) -> None:
    study = make_study(items=2, by=researcher)
    one, two = study.items.all()
    assert "payload-question" in text(researcher_client.get(url(study, f"items/{one.pk}/edit/")))
    bad = researcher_client.post(
        url(study, f"items/{one.pk}/edit/"), sent(simulation_payload("a"), **{"gold-helpful": "perhaps"})
    )
    assert bad.status_code == 400
    assert 'id="id_gold-helpful_error"' in bad.content.decode()
    good = researcher_client.post(
        url(study, f"items/{one.pk}/edit/"), sent(simulation_payload("new")), follow=True
    )
    assert "Item item-0 saved." in text(good)
    one.refresh_from_db()
    assert one.payload == simulation_payload("new")
    assert one.gold is None
    right = sent(simulation_payload("new"), **{"gold-helpful": "no"})
    researcher_client.post(url(study, f"items/{one.pk}/edit/"), right)
    one.refresh_from_db()
    assert one.gold == {"helpful": "no"}
    form = researcher_client.get(url(study, f"items/{one.pk}/edit/")).context["form"]
    assert form["gold-helpful"].value() == "no"
    researcher_client.post(url(study, f"items/{two.pk}/delete/"))
    assert study.items.get() == one


def test_an_item_of_a_live_study_is_corrected_and_another_withdrawn(
    researcher_client: Client, researcher: User
) -> None:
    study = make_study(items=2, by=researcher, launched=True)
    one, two = study.items.all()
    shown = text(researcher_client.get(url(study, f"items/{one.pk}/")))
    assert "Correct…" in shown
    assert "Withdraw…" in shown
    without = researcher_client.post(url(study, f"items/{one.pk}/edit/"), sent(simulation_payload("new")))
    assert without.status_code == 400
    assert 'id="id_reason_error"' in without.content.decode()
    done = researcher_client.post(
        url(study, f"items/{one.pk}/edit/"), sent(simulation_payload("new"), reason="a typo"), follow=True
    )
    assert "The corrected version item-0.v2 is given out instead." in text(done)
    corrected = Item.objects.get(key="item-0.v2")
    assert corrected.payload == simulation_payload("new")
    assert corrected.follow_up is not None
    assert corrected.follow_up.text == simulation_payload("new")["follow_up"]
    assert "It was replaced by" in text(researcher_client.get(url(study, f"items/{one.pk}/")))
    researcher_client.post(url(study, f"items/{two.pk}/withdraw/"), {"reason": "broken"})
    assert "Withdrawn on" in text(researcher_client.get(url(study, f"items/{two.pk}/")))
    versions = text(researcher_client.get(url(study, "versions/")))
    assert "From version 2 to version 3" in versions
    assert "Item item-1" in versions
    assert "<ins>withdrawn: broken</ins>" in versions
    earlier = text(researcher_client.get(url(study, "versions/"), {"before": "1", "after": "2"}))
    assert "<ins>corrected as item-0.v2: a typo</ins>" in earlier
    assert "digest</dt>" not in earlier


def test_a_study_is_duplicated_archived_deleted_and_restored(
    researcher_client: Client, researcher: User
) -> None:
    study = make_study(items=2, by=researcher, launched=True, slug="owls")
    copied = researcher_client.post(
        url(study, "duplicate/"), {"title": "Owls again", "slug": "owls-2", "material": "on"}, follow=True
    )
    assert "has been created as a draft" in text(copied)
    assert Study.objects.get(slug="owls-2").items.count() == 2
    refused = researcher_client.post(url(study, "archive/"), follow=True)
    assert "Close it before you archive it." in text(refused)
    study_close(study=study)
    researcher_client.post(url(study, "archive/"))
    study.refresh_from_db()
    assert study.archived_at
    wrong = researcher_client.post(url(study, "remove/"), {"typed": "owl"})
    assert wrong.status_code == 400
    assert 'id="id_typed_error"' in wrong.content.decode()
    gone = researcher_client.post(url(study, "remove/"), {"typed": "owls"}, follow=True)
    assert "You can restore it for 30 days." in text(gone)
    assert researcher_client.get(url(study, "live/")).status_code == 404
    back = researcher_client.post("/admin/annotator/study/deleted/", {"study": study.pk}, follow=True)
    assert "has been restored" in text(back)
    assert researcher_client.get(url(study, "live/")).status_code == 200


def test_only_an_owner_restores_a_study(researcher: User) -> None:
    study = make_study(by=researcher, slug="owls")
    editor = make_user(staff=True)
    Membership.objects.create(study=study, user=editor, role="editor")
    Study.objects.filter(pk=study.pk).update(deleted_at=study.created_at)
    client = Client()
    client.force_login(editor)
    assert "owls" not in text(client.get("/admin/annotator/study/deleted/"))
    assert client.post("/admin/annotator/study/deleted/", {"study": study.pk}).status_code == 404


def test_any_two_versions_can_be_compared(researcher_client: Client, researcher: User) -> None:
    study = make_study(items=1, by=researcher, launched=True, instructions_text="")
    for redundancy in (4, 5):
        study_update(study=study, redundancy=redundancy, by=researcher)
    shown = text(researcher_client.get(url(study, "versions/"), {"before": "1", "after": "3"}))
    assert "From version 1 to version 3" in shown
    assert "<del>3</del> <ins>5</ins>" in shown
