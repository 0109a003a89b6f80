"""Each type of the gallery has a demo study: made, answered by rehearsal raters, and reported with the figures of its levels."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client

from annotator.hit_types.declaration.gallery import gallery_types
from annotator.hit_types.registry import hit_type_get
from annotator.models import Judgment, Rehearsal, Study, User
from annotator.services.api_tokens import api_token_make
from annotator.services.gallery_demo import gallery_demo_make, gallery_demos, gallery_rehearse, gallery_rows
from annotator.services.rehearsal.run import rehearsal_run
from annotator.services.study import study_close
from annotator.services.study_removal import study_delete
from annotator.services.workspace import workspace_create, workspace_personal
from tests.evaluation.reports.studies import computed
from tests.factories import make_user

pytestmark = pytest.mark.django_db
#: What the agreement section of a report must have, by level of a variable.
FIGURES = {
    "nominal": "Krippendorff", "ordinal": "Krippendorff", "interval": "Krippendorff",
    "span": "F1 of pairs of annotators", "ranking": "Kendall’s W", "pairwise": "Strength (log, mean 0) of robot-a",
}  # fmt: skip


def test_every_type_of_the_gallery_has_a_demo_study() -> None:
    assert gallery_demos() == list(gallery_types())


@pytest.mark.parametrize("name", gallery_types())
def test_a_demo_study_is_made_answered_and_reported(name: str, researcher: User) -> None:
    kind = hit_type_get(name)
    rows = gallery_rows(name)
    assert 6 <= len(rows) <= 10
    study = gallery_demo_make(hit_type=name, by=researcher, rehearsed=False)
    assert study.state == Study.State.LIVE
    assert gallery_rehearse(study=study) == len(rows) * kind.defaults.redundancy
    found = list(Judgment.objects.filter(study=study).select_related("item"))
    rated = {one.variable for each in found for one in kind.to_ratings(each.item.payload, each.response)}
    assert rated == {variable.name for variable in kind.variables}
    sections = [one for one in computed(study).content["sections"] if one["id"].startswith("agreement")]
    said = str(sections)
    for variable in kind.variables:
        assert FIGURES[variable.level] in said, variable.name
        assert variable.title in said, variable.name


def test_a_demo_study_is_deleted_as_any_and_made_again_under_another_name(researcher: User) -> None:
    first = gallery_demo_make(hit_type="reply_ranking", by=researcher, rehearsed=False)
    study_delete(study=study_close(study=first), by=researcher, typed=first.slug)
    again = gallery_demo_make(hit_type="reply_ranking", by=researcher, rehearsed=False)
    assert (first.slug, again.slug) == ("demo-reply-ranking", "demo-reply-ranking-2")
    assert not again.rehearsals.exists()
    assert again.workspace is not None
    assert again.workspace.personal_of == researcher
    with pytest.raises(ValidationError, match="expected one of: conversation_turns"):
        gallery_demo_make(hit_type="simulation", by=researcher)


def test_a_study_that_is_refused_is_explained_on_the_page(
    researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> Study:
        raise ValidationError({"slug": "another study has this short name"})

    monkeypatch.setattr("annotator.admin.hit_types.gallery_demo_make", refused)
    page = Client()
    page.force_login(researcher)
    sent = {"hit_type": "pairwise_preference", "workspace": workspace_personal(user=researcher).pk}
    reply = page.post("/admin/annotator/declaredtype/gallery/try/", sent, follow=True)
    assert reply.status_code == 200
    assert b"another study has this short name" in reply.content


def test_one_button_one_request_and_one_command_make_it(researcher: User) -> None:
    page, token = Client(), api_token_make(user=researcher)
    page.force_login(researcher)
    assert b"Try: " in page.get("/admin/annotator/declaredtype/add/").content
    sent = {"hit_type": "pairwise_preference", "workspace": workspace_personal(user=researcher).pk}
    reply = page.post("/admin/annotator/declaredtype/gallery/try/", sent)
    study = Study.objects.get(slug="demo-pairwise-preference")
    assert (reply.status_code, reply["Location"]) == (302, f"/admin/annotator/study/{study.pk}/live/")
    rehearsal_run(rehearsal_pk=study.rehearsals.get().pk)
    assert study.rehearsals.get().state == Rehearsal.State.DONE
    wrong = page.post("/admin/annotator/declaredtype/gallery/try/", sent | {"hit_type": "simulation"})
    assert wrong["Location"] == "/admin/annotator/declaredtype/add/"
    api = Client(headers={"Authorization": f"Token {token}"})
    made = api.post(
        "/api/v1/hit-types/try/", {"hit_type": "error_spans", "rehearsed": False}, "application/json"
    )
    assert (made.status_code, made.json()["slug"]) == (201, "demo-error-spans")
    elsewhere = {
        "hit_type": "error_spans",
        "workspace": workspace_create(by=make_user("eve", staff=True), name="X").pk,
    }
    assert api.post("/api/v1/hit-types/try/", elsewhere, "application/json").status_code == 404
    assert page.post("/admin/annotator/declaredtype/gallery/try/", elsewhere)["Location"].endswith("/add/")
    assert api.post("/api/v1/hit-types/try/", {"hit_type": "cats"}, "application/json").status_code == 400
    out = StringIO()
    call_command("hit_type", "try", "summary_quality", "--owner", researcher.username, stdout=out)
    assert "demo-summary-quality: 24 rehearsal judgments" in out.getvalue()
    assert Study.objects.count() == 3
