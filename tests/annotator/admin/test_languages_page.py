"""The pages where researchers translate a study's texts."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.hit_types.registry import hit_type_get
from annotator.hit_types.translations import question_texts, read_translations, texts_replaced
from annotator.models import Study
from annotator.services.study import study_update
from tests.annotator.demo_studies import TYPES
from tests.annotator.translated_study import outdated
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def test_the_pages_of_the_settings_list_and_store_a_translation() -> None:
    ada = make_user("ada", staff=True)
    study = make_study(
        by=ada, items=1, title="Owls", consent_text="We keep your answers.", exam_required=True
    )
    client = Client()
    client.force_login(ada)
    where = f"/admin/annotator/study/{study.pk}/languages/"
    page = client.get(where).content.decode()
    assert "Deutsch" in page
    assert "<td>title, consent text</td>" in page
    assert client.post(f"{where}de/", {"title": "Eulen"}).status_code == 302
    study.refresh_from_db()
    assert study.translations == {"de": {"title": "Eulen"}}
    page = client.get(where).content.decode()
    assert "<td>consent text</td>" in page
    assert client.post(f"{where}de/", {"title": ""}).status_code == 302
    study.refresh_from_db()
    assert study.translations == {}
    assert client.get(f"{where}en/").status_code == 404


@pytest.fixture
def choices() -> tuple[Client, Study, str]:
    """A study with an exam of `simulation_choice`, and the address of its German texts."""
    ada = make_user("ada", staff=True)
    study = make_study(by=ada, hit_type="simulation_choice", title="Choices", exam_required=True)
    client = Client()
    client.force_login(ada)
    return client, study, f"/admin/annotator/study/{study.pk}/languages/de/"


def test_a_question_is_translated_in_fields_beside_the_original(choices: tuple[Client, Study, str]) -> None:
    client, study, where = choices
    [first, second, *_] = hit_type_get("simulation_choice").exam
    page = client.get(where).content.decode()
    assert f"{where}exam/{first.key}/" in page
    page = client.get(f"{where}exam/{first.key}/").content.decode()
    assert 'name="text-question"' in page
    assert f">{first.payload['options'][1]}</pre>" in page
    assert "text-answer" not in page, "the pages translate labels by themselves"
    sent = {"text-question": "Was schwimmt?", "text-options-1": "ein Korken", "reason": "Er ist leicht."}
    answer = client.post(f"{where}exam/{first.key}/", sent | {"next": "1"})
    assert answer.headers["Location"] == f"{where}exam/{second.key}/", "the next one that is missing"
    study.refresh_from_db()
    [stored] = study.translations["de"]["exam"]
    assert stored["payload"]["question"] == "Was schwimmt?"
    assert stored["payload"]["options"] == [
        first.payload["options"][0], "ein Korken", *first.payload["options"][2:],
    ]  # fmt: skip
    assert stored["payload"]["follow_up"] == first.payload["follow_up"], "left empty: shown in the original"
    assert stored["reason"] == "Er ist leicht."
    page = client.get(f"{where}exam/{first.key}/").content.decode()
    assert "ein Korken</textarea>" in page
    # The other texts and questions stay as they are.
    client.post(f"{where}exam/{second.key}/", {"text-question": "Und was noch?"})
    client.post(where, {"title": "Wahl"})
    study.refresh_from_db()
    assert [one["key"] for one in study.translations["de"]["exam"]] == [first.key, second.key]
    assert study.translations["de"]["title"] == "Wahl"
    client.post(f"{where}exam/{first.key}/", sent | {"delete": "1"})
    client.post(f"{where}exam/{second.key}/", {"text-question": "", "reason": " "})
    study.refresh_from_db()
    assert study.translations == {"de": {"title": "Wahl"}}


def test_the_services_refusal_is_shown_on_the_questions_page(choices: tuple[Client, Study, str]) -> None:
    client, study, where = choices
    first = hit_type_get("simulation_choice").exam[0]
    answer = client.post(f"{where}exam/{first.key}/", {"text-question": "x" * 100_001})
    assert answer.status_code == 400
    assert "contains a text of more than" in answer.content.decode()
    assert client.get(f"{where}exam/unknown/").status_code == 404
    assert client.get(f"{where}practice/{first.key}/").status_code == 404
    study.refresh_from_db()
    assert study.translations == {}


def test_a_question_is_flagged_until_its_translation_was_compared(choices: tuple[Client, Study, str]) -> None:
    client, study, where = choices
    exam = [dict(vars(one)) for one in hit_type_get("simulation_choice").exam]
    pages = [f"{where}exam/{one['key']}/" for one in exam[:2]]
    sent = {"text-question": "Was schwimmt?"}
    for page in pages:
        client.post(page, sent)
    for one in exam[:2]:
        one["reason"] = "A better reason."
    study.refresh_from_db()
    study_update(study=study, exam_own=exam)
    assert client.get(where).content.decode().count("original has changed since") == 2
    assert "I have compared" in client.get(pages[0]).content.decode()
    client.post(pages[0], sent | {"compared": "on"})
    assert client.get(where).content.decode().count("original has changed since") == 1
    assert "I have compared" not in client.get(pages[0]).content.decode()


@pytest.mark.parametrize("name", TYPES)
def test_every_text_of_a_question_can_be_translated_and_nothing_else(name: str) -> None:
    """Replacing all of a question's texts is accepted, and the page of the question shows each of them."""
    kind = hit_type_get(name)
    for question in (*kind.exam, *kind.practice):
        places = question_texts(kind, question)
        texts = {path: f"{text} (Deutsch)" for path, text in places.items()}
        payload = texts_replaced(question.payload, texts)
        one = {"key": question.key, "payload": payload, "reason": "Darum."}
        read = read_translations(
            kind, {"de": {"exam": [one]}}, languages=["de"], exam=[question], practice=[]
        )
        assert read["de"]["exam"] == [one]
        stage = kind.question_stage(payload, question.gold)
        shown = [text for block in stage.blocks for text in (block.text, *block.items)]
        shown += [option.label for field in stage.fields for option in field.options]
        for text in texts.values():
            assert any(text in one for one in shown), text
        english = [
            block.text
            for block in stage.blocks
            if len(block.text) > 40 and block.kind == "text" and "(Deutsch)" not in block.text
        ]
        assert english == []


@pytest.mark.parametrize(
    ("name", "change"),
    [("atomic_units", {"ask": ["nothing"]}), ("generalization_utility", {"arms": [["unknown"]]})],
)
def test_a_translated_question_that_asks_nothing_is_refused(name: str, change: dict[str, Any]) -> None:
    question = hit_type_get(name).exam[0]
    study = make_study(hit_type=name)
    one = {"key": question.key, "payload": question.payload | change, "reason": "so"}
    with pytest.raises(ValidationError, match=r"asks nothing|has an unknown value"):
        study_update(study=study, translations={"de": {"exam": [one]}})


def test_only_editors_can_translate() -> None:
    study = make_study(by=make_user("ada", staff=True), items=1)
    client = Client()
    client.force_login(make_user("eve", staff=True))
    assert client.post(f"/admin/annotator/study/{study.pk}/languages/de/", {"title": "x"}).status_code == 404


def test_the_pages_flag_a_changed_original_until_somebody_has_compared_it() -> None:
    ada = make_user("ada", staff=True)
    study = make_study(
        by=ada, items=1, title="Owls", summary="Read.", translations={"de": {"summary": "Lesen."}}
    )
    study_update(study=study, summary="Read and predict.")
    client = Client()
    client.force_login(ada)
    where = f"/admin/annotator/study/{study.pk}/languages/"
    assert "<td>summary</td>" in client.get(where).content.decode()
    page = client.get(f"{where}de/").content.decode()
    assert "The original has changed since it was translated: summary." in page
    client.post(f"{where}de/", {"title": "Eulen", "summary": "Lesen."})
    study.refresh_from_db()
    assert outdated(study) == ("summary",)
    client.post(f"{where}de/", {"title": "Eulen", "summary": "Lesen.", "compared": "on"})
    study.refresh_from_db()
    assert outdated(study) == ()
    assert study.translations == {"de": {"title": "Eulen", "summary": "Lesen."}}
    assert "compared" not in client.get(f"{where}de/").content.decode()
