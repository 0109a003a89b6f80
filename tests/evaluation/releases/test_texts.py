"""Free text is left out of a release by default; if it's released, somebody decides on each text before there is a file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from annotator.core.spellings import letters_of
from annotator.models import AuditEntry, Exclusion, Item, Judgment, Rater, Study
from annotator.services.erasure import erase
from annotator.services.exclusion import exclusion_make
from evaluation.models import Release, ReleaseText, Report
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from evaluation.services.release import release_compute, release_create, release_decide
from tests.evaluation.releases.releases import built, everything, rows_of
from tests.evaluation.releases.spellings import SPELLINGS
from tests.evaluation.reports.studies import client_of, small_study, stored
from tests.factories import make_judgment, make_participation, make_rater, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


def talkative() -> Study:
    """Two answers with comments, and a rater who was excluded with a reason."""
    study = small_study()
    for judgment, comment in zip(
        study.judgments.order_by("pk"),
        ["I like owls", "My aunt Berta keeps hens", "I like owls"],
        strict=False,
    ):
        Judgment.objects.filter(pk=judgment.pk).update(
            response=judgment.response | {"comment": comment, "sure": 7}
        )
    exclusion_make(study=study, by=None, reason="Ben told me that he guessed", rater=make_rater("bob"))
    return study


def made(report: Report, **fields: Any) -> Release:
    release = release_create(report=report, send=False, **fields)
    assert release_compute(release_pk=release.pk)
    release.refresh_from_db()
    assert release.state != Release.State.FAILED, release.error
    return release


def archive_of(release: Release) -> io.BytesIO:
    with default_storage.open(release.file) as file:
        return io.BytesIO(file.read())


def test_free_text_is_left_out_by_default() -> None:
    release = made(stored(talkative()))
    assert release.state == Release.State.DONE
    file = archive_of(release)
    text = everything(file)
    assert [word for word in ("owls", "Berta", "guessed") if word in text] == []
    assert "is left out." in text
    assert rows_of(file, "judgment")[0]["response"]["comment"] == "[text left out]"
    assert rows_of(file, "judgment")[0]["response"]["sure"] == 7
    assert {row["response"]["helpful"] for row in rows_of(file, "judgment")} == {"yes", "no"}
    assert release.findings["removed"]["unreleased text"] == 4
    assert release.findings["differing"] == 0, release.findings["differences"]
    found = release_reproduce(release_open(file))
    assert found.exact
    assert found.problems == []


def test_each_text_needs_a_decision_before_there_is_a_file() -> None:
    study = talkative()
    report = stored(study)
    client = client_of(study)
    sent = client.post(f"/reports/{report.pk}/releases/", {"title": "Owls", "free_text": "on"})
    path = sent.headers["Location"]
    release = Release.objects.get()
    release_compute(release_pk=release.pk)
    page = client.get(path).text
    assert "3 of 3 texts have no decision yet" in page
    assert "My aunt Berta keeps hens" in page
    assert client.get(f"{path}download/").status_code == 404
    texts = {one.text: one for one in release.texts.all()}
    assert texts["I like owls"].uses == 2
    assert texts["I like owls"].place == "answers: comment"
    assert client_of(study, role="viewer").post(path, {"approve_all": "1"}).status_code == 404
    assert "Editors and owners" in client_of(study, role="viewer").get(path).text
    assert client.post(path, {f"text-{texts['I like owls'].pk}": "maybe"}).status_code == 422
    client.post(path, {f"text-{texts['I like owls'].pk}": "approved"})
    assert "2 of 3 texts have no decision yet" in client.get(path).text
    assert client.get(f"{path}download/").status_code == 404
    assert release_compute(release_pk=release.pk) is False, "it waits for decisions"
    client.post(path, {"remove_all": "1"})
    release.refresh_from_db()
    assert release.state == Release.State.QUEUED
    assert release_compute(release_pk=release.pk)
    file = io.BytesIO(b"".join(client.get(f"{path}download/").streaming_content))
    text = everything(file)
    assert "I like owls" in text
    assert [word for word in ("Berta", "guessed") if word in text] == []
    assert "[text removed]" in text
    assert "the authors have approved each text" in text
    release.refresh_from_db()
    assert release.findings["differing"] == 0, release.findings["differences"]
    assert release_reproduce(release_open(file)).problems == []
    assert AuditEntry.objects.filter(target=f"texts of release {release.pk}").count() == 2


def test_a_text_that_came_later_needs_a_decision_too() -> None:
    study = talkative()
    release = made(stored(study), free_text=True)
    decisions = {one.pk: "approved" for one in release.texts.all()}
    judgment = study.judgments.order_by("pk").last()
    assert judgment is not None
    Judgment.objects.filter(pk=judgment.pk).update(response=judgment.response | {"comment": "One more thing"})
    assert release_decide(release=release, decisions=decisions, by=None) == 0
    release_compute(release_pk=release.pk)
    release.refresh_from_db()
    assert release.state == Release.State.REVIEW
    (waiting,) = release.texts.filter(decision="pending")
    assert waiting.text == "One more thing"
    assert release.file == ""


def test_the_api_lists_texts_and_takes_decisions() -> None:
    study = talkative()
    client = client_of(study, role="editor")
    sent = client.post(
        f"/api/v1/reports/{stored(study).pk}/releases/", {"free_text": True}, content_type="application/json"
    )
    pk = sent.json()["id"]
    release_compute(release_pk=pk)
    path = f"/api/v1/releases/{pk}/texts/"
    found = client.get(path).json()
    assert {one["decision"] for one in found} == {"pending"}
    for wrong in ({"1x": "approved"}, {"999999": "approved"}, {str(found[0]["id"]): "maybe"}):
        refused = client.post(path, {"decisions": wrong}, content_type="application/json")
        assert refused.status_code == 400
    decisions = {str(one["id"]): "approved" for one in found}
    assert (
        client.post(path, {"decisions": decisions}, content_type="application/json").json()["state"]
        == "queued"
    )
    release_compute(release_pk=pk)
    assert client.get(f"/api/v1/releases/{pk}/").json()["state"] == "done"
    assert client_of(study, role="viewer").get(path).status_code == 404
    with pytest.raises(ValidationError, match="wait for a decision"):
        release_decide(release=Release.objects.get(), decisions={}, by=None)


def test_the_command_writes_no_file_before_the_decisions(tmp_path: Path) -> None:
    file = tmp_path / "owls.zip"
    with pytest.raises(CommandError, match=r"3 texts of release \d+ must be approved or removed first"):
        call_command("release", str(stored(talkative()).pk), "--free-text", "--output", str(file))
    assert not file.exists()


def test_no_spelling_of_ten_people_is_in_any_file_wherever_text_is_stored() -> None:
    """All free texts are approved, unread: screening alone must do. Before and after the people are erased."""
    study = make_study(items=2, launched=True, summary="Owls")
    spellings = [f"{text} x" for texts in SPELLINGS.values() for text in texts]
    raters: list[Rater] = [make_participation(study, make_user(name)).rater for name in SPELLINGS]
    first, second = study.items.order_by("pk")
    for number, rater in enumerate(raters):
        judgment = make_judgment(first, rater)
        own = {"comment": spellings[number]}
        if number < 2:  # a name that is one word stays if more than three other people use it
            own |= {"notes": {"list": spellings}, "answer_why": "\n".join(spellings)}  # type: ignore[dict-item]
        Judgment.objects.filter(pk=judgment.pk).update(response=judgment.response | own)
    make_judgment(second, make_rater("somebody else entirely"))
    for rater, text in zip(raters, spellings[::4], strict=False):
        exclusion_make(study=study, by=None, reason=text, rater=rater)
    Item.objects.filter(pk=second.pk).update(
        withdrawn_reason=" ".join(spellings), withdrawn_at=first.created_at
    )
    # Two of the names are too short for the names of files and digests to be free of them.
    names = {name: letters_of(name) for name in SPELLINGS}
    for exclusions in (True, False):
        archive = letters_of(everything(built(stored(study, exclusions=exclusions))[1]))
        assert [name for name, letters in names.items() if letters in archive] == []
    for rater in raters:
        erase(study=study, rater=rater, policy="anonymise")
    archive = letters_of(everything(built(stored(study, exclusions=False))[1]))
    assert [name for name, letters in names.items() if letters in archive] == []
    assert Exclusion.objects.filter(reason__contains="removed]").count() == len(raters)


def test_reasons_that_differ_only_in_a_name_are_one_and_no_difference() -> None:
    study = small_study()
    items = list(study.items.order_by("pk")[:2])
    for item, name in zip(items, ("owl_fan_77", "wanda_1970"), strict=True):
        make_judgment(study.items.order_by("pk").last(), make_rater(name))  # type: ignore[arg-type]
        exclusion_make(study=study, by=None, reason=f"{name} asked for it", item=item)
    for free_text in (True, False):
        found, file = built(stored(study), free_text=free_text)
        assert found.comparison.differing == 0, found.comparison.sentences
        assert release_reproduce(release_open(file)).problems == []


def test_an_erasure_takes_the_name_out_of_listed_texts() -> None:
    study = talkative()
    participation_rater = make_rater("owl_fan_77")
    judgment = make_judgment(study.items.first(), participation_rater)  # type: ignore[arg-type]
    Judgment.objects.filter(pk=judgment.pk).update(
        response=judgment.response | {"comment": "We are owl-fan-77"}
    )
    release = made(stored(study), free_text=True)
    assert "We are [name removed]" in set(release.texts.values_list("text", flat=True))
    ReleaseText.objects.create(
        release=release, place="answers: comment", text="old owl_fan_77", digest="x", uses=1
    )
    erase(study=study, rater=participation_rater, policy="delete")
    assert not ReleaseText.objects.filter(text__contains="owl_fan_77").exists()
