"""A study whose texts are in two languages: each participant reads theirs, and agrees to what they read."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.core.canonical import text_digest
from annotator.hit_types.registry import hit_type_get
from annotator.hit_types.translations import question_texts, read_translations, texts_replaced
from annotator.models import Consent, ExamAnswer, Judgment, Study
from annotator.selectors.images import images_used
from annotator.selectors.study_texts import language_states
from annotator.selectors.versions import version_diff
from annotator.services.images import images_add
from annotator.services.study import study_update
from annotator.services.study_copy import study_duplicate
from tests.annotator.web.test_annotator_flow import TYPES
from tests.bot import Bot
from tests.factories import make_study, make_user
from tests.pictures import picture

pytestmark = pytest.mark.django_db
KIND = hit_type_get("simulation")


def german(question: Any, mark: str = "auf Deutsch") -> dict[str, Any]:
    payload = question.payload | {"question": f"{question.payload['question']} {mark}"}
    return {"key": question.key, "payload": payload, "reason": f"{question.reason} (Deutsch)"}


def texts(**changes: Any) -> dict[str, Any]:
    return {
        "title": "Eulen",
        "summary": "Lesen und vorhersagen.",
        "consent_text": "Wir **bewahren** Ihre Antworten auf.",
        "instructions_text": "## Aufgabe\n\nSagen Sie die Antwort vorher.",
        "exam": [german(question) for question in KIND.exam],
        "practice": [german(question) for question in KIND.practice],
    } | changes


def bilingual(**rules: Any) -> Study:
    return make_study(
        items=3, launched=True, title="Owls", summary="Read and predict.", consent_text="We keep your answers.",
        practice_required=True, exam_required=True, exam_questions=2, pass_mark=2, translations={"de": texts()}, **rules,
    )  # fmt: skip


def walk(study: Study, language: str) -> Bot:
    bot = Bot(study)
    bot.client = Client(enforce_csrf_checks=True, headers={"Accept-Language": language})
    bot.whole_way(most=1)
    return bot


def test_every_step_is_in_the_participants_language() -> None:
    study = bilingual()
    seen = "\n".join(body for _, body in walk(study, "de").seen)
    for text in (
        "Eulen",
        "Lesen und vorhersagen.",
        "<strong>bewahren</strong>",
        "Sagen Sie die Antwort vorher.",
        "auf Deutsch",
    ):
        assert text in seen, text
    for text in ("Owls", "Read and predict.", "We keep your answers.", "Your task"):
        assert text not in seen, text
    assert Judgment.objects.get().language == "de"
    assert ExamAnswer.objects.filter(right=True).count() == 2


def test_others_read_the_study_s_own_language() -> None:
    seen = "\n".join(body for _, body in walk(bilingual(), "ar, en;q=0.5").seen)
    assert "Owls" in seen
    assert "Eulen" not in seen
    assert Judgment.objects.get().language == "en"


def test_the_consent_that_is_kept_is_the_text_that_was_read() -> None:
    study = bilingual()
    walk(study, "de")
    consent = Consent.objects.get()
    assert consent.text == texts()["consent_text"]
    assert consent.digest == text_digest(consent.text)


def test_a_changed_translation_of_the_consent_text_is_asked_again_of_those_who_read_it() -> None:
    study = bilingual()
    bots = {language: walk(study, language) for language in ("de", "en")}
    study_update(study=study, translations={"de": texts(consent_text="Neuer Text.")})
    page = bots["de"].client.get(f"{bots['de'].path}task/", follow=True)
    assert page.request["PATH_INFO"].endswith("/consent/")
    assert "Neuer Text." in page.content.decode()
    page = bots["en"].client.get(f"{bots['en'].path}task/", follow=True)
    assert page.request["PATH_INFO"].endswith("/task/")


def test_translations_are_part_of_the_version_and_its_differences_are_shown() -> None:
    study = bilingual()
    before = study.snapshot
    exam = [german(KIND.exam[0], "ganz neu"), *map(german, KIND.exam[1:])]
    study = study_update(study=study, translations={"de": texts(summary="Kürzer.", exam=exam)})
    assert before is not None
    assert study.snapshot is not None
    assert study.snapshot.digest != before.digest
    changes = {change.name: change for change in version_diff(before, study.snapshot)}
    assert changes["de: summary"].lines == (("-", "Lesen und vorhersagen."), ("+", "Kürzer."))
    assert "ganz neu" in changes[f"de: exam question {KIND.exam[0].key}"].after
    assert len(changes) == 2


def test_a_study_without_translations_keeps_its_digest() -> None:
    study = make_study(items=1, launched=True)
    assert study.snapshot is not None
    assert "translations" not in study.snapshot.content


def test_a_copy_has_the_translations() -> None:
    study = bilingual()
    copy = study_duplicate(
        study=study, by=make_user("ada", staff=True), slug="copy", title="Copy", material=False
    )
    assert copy.translations == study.translations


def test_what_is_missing_is_listed() -> None:
    study = bilingual()
    study = study_update(study=study, translations={"de": {"title": "Eulen", "exam": texts()["exam"][:1]}})
    states = {state.language.code: state for state in language_states(study)}
    assert list(states) == ["de", "ar"]
    assert states["de"].missing == (
        "summary", "consent text", "instructions", f"exam ({len(KIND.exam) - 1} of {len(KIND.exam)} questions)",
        f"practice ({len(KIND.practice)} of {len(KIND.practice)} questions)",
    )  # fmt: skip
    assert not states["ar"].begun


@pytest.mark.parametrize(
    ("translations", "fault"),
    [
        ({"xx": {}}, "xx: is not a language for translations; expected one of: de, ar"),
        ({"en": {"title": "x"}}, "en: is not a language for translations; expected one of: de, ar"),
        ({"de": {"name": "x"}}, "de.name: is not a text of a study"),
        ({"de": {"title": 3}}, "de.title: expected text, got int"),
        (
            {"de": {"instructions_text": "```example\n{"}},
            "de.instructions_text: line 1: the example is not closed",
        ),
        (
            {"de": {"exam": [{"key": "none", "payload": {}, "reason": ""}]}},
            "there is no question with this key",
        ),
        ({"de": {"exam": [{"key": KIND.exam[0].key, "payload": {}, "reason": ""}]}}, "payload: "),
        ({"de": {"exam": [german(KIND.exam[0])] * 2}}, "this question is translated twice"),
    ],
)
def test_a_fault_is_named(translations: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError) as refused:
        study_update(study=make_study(items=1), translations=translations)
    assert any(fault in message for message in refused.value.message_dict["translations"]), (
        refused.value.message_dict
    )


def test_a_translated_question_must_have_the_same_answers() -> None:
    kind = hit_type_get("simulation_choice")
    question = kind.exam[0]
    payload = question.payload | {
        "follow_up_options": ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"]
    }
    study = make_study(items=0, hit_type="simulation_choice")
    with pytest.raises(ValidationError, match="does not ask the same as the original"):
        study_update(
            study=study,
            translations={"de": {"exam": [{"key": question.key, "payload": payload, "reason": "so"}]}},
        )


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
    assert "everything" in page
    assert client.post(f"{where}de/", {"title": "Eulen"}).status_code == 302
    study.refresh_from_db()
    assert study.translations == {"de": {"title": "Eulen"}}
    page = client.get(where).content.decode()
    assert "consent text, instructions" in page
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


def test_the_service_s_refusal_is_shown_on_the_questions_page(choices: tuple[Client, Study, str]) -> None:
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


def outdated(study: Study) -> tuple[str, ...]:
    return language_states(study)[0].outdated


def test_a_translation_is_flagged_when_its_original_changes_later() -> None:
    study = bilingual()
    assert outdated(study) == ()
    exam = [dict(vars(one)) for one in KIND.exam]
    exam[0]["reason"] = "A better reason."
    study = study_update(study=study, summary="Read, then predict.", exam_own=exam)
    assert outdated(study) == ("summary", f"exam (1 of {len(KIND.exam)} questions)")
    # Translating one of them again leaves the flag at the other, and an original that is changed back isn't flagged.
    study = study_update(study=study, translations={"de": texts(summary="Lesen, dann vorhersagen.")})
    assert outdated(study) == (f"exam (1 of {len(KIND.exam)} questions)",)
    study = study_update(study=study, exam_own=None)
    assert outdated(study) == ()


def test_a_translation_from_before_the_sources_were_kept_is_flagged_too() -> None:
    study = bilingual()
    Study.objects.update(translated_from={})
    study = study_update(study=study, consent_text="We keep your answers for a year.")
    assert outdated(study) == ("consent text",)


def test_a_copy_knows_which_originals_have_changed() -> None:
    study = study_update(study=bilingual(), summary="Read, then predict.")
    copy = study_duplicate(
        study=study, by=make_user("ada", staff=True), slug="copy", title="Owls", material=False
    )
    assert outdated(copy) == ("summary",)


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


def test_texts_that_come_with_the_hit_type_are_named_and_missing_until_they_are_translated() -> None:
    ada = make_user("ada", staff=True)
    study = make_study(by=ada, items=1, practice_required=True, exam_required=True)
    client = Client()
    client.force_login(ada)
    where = f"/admin/annotator/study/{study.pk}/languages/"
    said = "The instructions, exam and practice of this study come with its HIT type, in English."
    assert said in client.get(where).content.decode()
    study = study_update(study=study, translations={"de": {"title": "Eulen"}})
    assert language_states(study)[0].missing == (
        "instructions", f"exam ({len(KIND.exam)} of {len(KIND.exam)} questions)",
        f"practice ({len(KIND.practice)} of {len(KIND.practice)} questions)",
    )  # fmt: skip
    study_update(study=study, instructions_text="Predict.", practice_required=False)
    assert "The exam of this study" in client.get(where).content.decode()


def test_images_of_translated_questions_are_found_as_in_the_originals(tmp_path: Any, settings: Any) -> None:
    files = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": tmp_path},
    }
    settings.STORAGES = settings.STORAGES | {"default": files}
    ada = make_user("ada", staff=True)
    study = make_study(by=ada, items=1)
    images_add(study=study, files=[("cat.png", picture()), ("katze.png", picture("brown"))])
    payload = {
        "question": "![A cat on a mat](cat.png)", "explanation": "It sits.", "answer": "yes",
        "follow_up": "Does it lie?", "formats": {"question": "image"},
    }  # fmt: skip
    gold = KIND.exam[0].gold
    own = {"key": "cat", "payload": payload, "gold": gold, "reason": "So.", "pool": KIND.exam[0].pool}
    for image in ("![Eine Katze](katze.png)", "![Eine Katze](cat.png)"):
        ours = {"key": "cat", "payload": payload | {"question": image}, "reason": "Darum."}
        study = study_update(study=study, exam_own=[own], translations={"de": {"exam": [ours]}})
        shown = study.translations["de"]["exam"][0]["payload"]["question"]
        digest = study.images.get(name=image[image.index("(") + 1 : -1]).digest
        assert shown == f'{image[:-1]} "40x30 sha256:{digest}")'
        assert digest in images_used(study=study)
    copy = study_duplicate(study=study, by=ada, slug="copy", title="Copy", material=False)
    assert copy.translations == study.translations
    ours["payload"] = payload | {"question": "![Eine Katze](katz.png)"}
    with pytest.raises(ValidationError, match=r"de.exam, cat: question: no image named 'katz.png'"):
        study_update(study=study, translations={"de": {"exam": [ours]}})
