"""A deletion takes a person's names out of all stored texts, so that a release made later doesn't have them; and says which
stored releases still have the person's answers."""

from __future__ import annotations

import io
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.core.spellings import letters_of
from annotator.models import (
    Adjudication,
    DataRequest,
    Exclusion,
    Item,
    Judgment,
    Participation,
    Rater,
    ReviewDecision,
    Study,
)
from annotator.services.erasure import data_request_open, erase, erase_all
from annotator.services.exclusion import exclusion_make
from evaluation.models import Release, Report
from evaluation.services.release import release_compute, release_create
from tests.evaluation.releases.releases import everything
from tests.evaluation.releases.spellings import SPELLINGS
from tests.evaluation.reports.studies import client_of, stored
from tests.factories import make_item, make_judgment, make_participation, make_rater, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


def answered(item: Item, rater: Rater, **texts: Any) -> Judgment:
    judgment = make_judgment(item, rater)
    Judgment.objects.filter(pk=judgment.pk).update(response=judgment.response | texts)
    return judgment


def judged_by(name: str, *, others: int = 1) -> tuple[Study, Participation]:
    """A study that somebody of this name took part in, with an item that others have judged, too."""
    study = make_study(items=2, launched=True)
    participation = make_participation(study, make_user(name))
    item = study.items.order_by("pk").first()
    assert item is not None
    answered(item, participation.rater, comment=f"hi I am {name} ok")
    for number in range(others):
        answered(item, make_rater(f"other person {number}"), comment=f"I was asked by {name}, too.")
    return study, participation


def made(report: Report) -> Release:
    release = release_create(report=report, send=False)
    assert release_compute(release_pk=release.pk)
    release.refresh_from_db()
    assert release.state == Release.State.DONE, release.error
    return release


def text_of(release: Release) -> str:
    with default_storage.open(release.file) as file:
        return everything(io.BytesIO(file.read()))


@pytest.mark.parametrize("policy", ["anonymise", "delete"])
def test_a_release_made_after_a_deletion_has_no_name_either(policy: str) -> None:
    study, participation = judged_by("owl_fan_77")
    exclusion_make(study=study, by=None, reason="OWL-FAN-77 asked for it", item=study.items.last())
    before = text_of(made(stored(study)))
    erase(study=study, rater=participation.rater, policy=policy)
    after = text_of(made(stored(study)))
    assert "owlfan77" not in letters_of(before)
    assert "owlfan77" not in letters_of(after)
    assert not Judgment.objects.filter(response__comment__contains="owl_fan_77").exists()
    assert Exclusion.objects.get(item__isnull=False).reason == "[name removed] asked for it"


def test_notes_about_other_people_lose_the_name_too() -> None:
    """Decisions about submissions and adjudicators' labels are written by researchers, who may name somebody."""
    study, participation = judged_by("owl_fan_77")
    other, item = make_participation(study), study.items.order_by("pk").first()
    assert item is not None
    decision = ReviewDecision.objects.create(
        study=study,
        participation=other,
        kind="return",
        batch=uuid4(),
        text="You wrote the same as owl_fan_77.",
    )
    label = Adjudication.objects.create(
        study=study, item=item, adjudicator=1, seat=1, digest="d",
        response={"helpful": "yes", "answer": "no", "comment": "OWL FAN 77 is right"},
    )  # fmt: skip
    erase(study=study, rater=participation.rater, policy="anonymise")
    decision.refresh_from_db()
    label.refresh_from_db()
    assert decision.text == "You wrote the same as [name removed]."
    assert label.response == {"helpful": "yes", "answer": "no", "comment": "[name removed] is right"}


def test_no_spelling_of_ten_people_is_left_after_their_deletion() -> None:
    study = make_study(items=1, launched=True)
    item, raters = study.items.get(), []
    writer = make_rater("somebody else")
    for name in SPELLINGS:
        raters.append(make_participation(study, make_user(name)).rater)
    texts = [
        f"{text} and {around}" for texts in SPELLINGS.values() for text in texts for around in ("so", "I")
    ]
    answered(item, writer, comment="\n".join(texts), notes={"list": texts})
    report = stored(study)
    erase_all(study=study, raters=raters, policy="anonymise")
    left = letters_of(str(Judgment.objects.get(item=item).response))
    assert [name for name in SPELLINGS if letters_of(name) in left] == []
    archive = letters_of(text_of(made(stored(study))))
    assert [name for name in SPELLINGS if letters_of(name) in archive and len(letters_of(name)) > 5] == []
    report.refresh_from_db()
    assert [name for name in SPELLINGS if name in str(report.content)] == []


def test_words_and_chosen_answers_stay() -> None:
    """Somebody whose name is an ordinary word can't change what others have written by asking for a deletion."""
    study, participation = judged_by("guess", others=5)
    other = answered(
        study.items.last(), make_rater("anybody"), helpful="no", comment="Guesswork, unguessable"
    )  # type: ignore[arg-type]
    remains = erase(study=study, rater=participation.rater, policy="anonymise")
    assert Judgment.objects.get(pk=other.pk).response == {
        "helpful": "no", "answer": "yes", "comment": "Guesswork, unguessable",
    }  # fmt: skip
    assert Judgment.objects.filter(response__comment="I was asked by guess, too.").count() == 5
    assert remains == [
        "“guess” is also used by other participants, as an ordinary word, and stays in their texts."
    ]


def test_a_name_of_few_letters_is_removed_where_it_is_a_word() -> None:
    study, participation = judged_by("Anna")
    other = answered(study.items.last(), make_rater("anybody"), comment="Susanna, ANNA2 and (anna).")  # type: ignore[arg-type]
    assert erase(study=study, rater=participation.rater, policy="delete") == []
    assert Judgment.objects.get(pk=other.pk).response["comment"] == (
        "Susanna, [name removed]2 and ([name removed])."
    )


def test_items_with_the_name_are_named() -> None:
    study, participation = judged_by("owl_fan_77")
    make_item(study, key="owl-9", payload={"question": "Is @owl_fan_77 right?"})
    (said,) = erase(study=study, rater=participation.rater, policy="anonymise")
    assert said.startswith("The material of 1 item has a name of this person: owl-9.")


def test_stored_reports_lose_the_name_and_can_still_be_released() -> None:
    study, participation = judged_by("owl_fan_77", others=3)
    Participation.objects.filter(pk=participation.pk).update(
        state="finished", finished_at=participation.joined_at
    )
    report = stored(study)
    assert "owl_fan_77" in str(report.content)
    erase(study=study, rater=participation.rater, policy="anonymise")
    report.refresh_from_db()
    assert "owlfan77" not in letters_of(str(report.content))
    assert made(report).findings["differing"] == 0


def test_releases_that_have_the_person_are_named_before_and_after() -> None:
    study, participation = judged_by("owl_fan_77")
    release, other = made(stored(study)), made(stored(judged_by("somebody_99")[0]))
    client, request = client_of(study), data_request_open(participation=participation)
    path = reverse("admin:study_data_requests", args=[study.pk])
    words = f"Release {release.pk} (“Release {release.pk} of report {release.report_id}”"
    assert words in client.get(path).text
    assert "have been deleted since" not in client.get(f"/releases/{release.pk}/").text
    sent = client.post(path, {"request": request.pk, "carry_out": "1", "sure": "on", "note": ""}, follow=True)
    assert words in sent.text
    assert DataRequest.objects.get().state == "done"
    notice = "The data of 1 person in this release have been deleted since it was made."
    assert notice in client.get(f"/releases/{release.pk}/").text
    assert notice in client.get(f"/api/v1/releases/{release.pk}/").json()["notices"][0]
    again = made(stored(study))
    assert notice not in client.get(f"/releases/{again.pk}/").text
    assert notice not in client_of(other.report.study).get(f"/releases/{other.pk}/").text


def test_the_command_names_releases_too(capsys: Any) -> None:
    study, participation = judged_by("owl_fan_77")
    release = made(stored(study))
    call_command("data_requests", "carry-out", str(data_request_open(participation=participation).pk))
    assert f"Release {release.pk} " in capsys.readouterr().err
    assert Client().get(f"/releases/{release.pk}/").status_code == 302
