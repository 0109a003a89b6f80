"""A study whose texts are in two languages: each participant reads theirs, and agrees to what they read."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.core.canonical import text_digest
from annotator.hit_types.registry import hit_type_get
from annotator.models import Consent, ExamAnswer, Judgment, Study
from annotator.selectors.images import images_used
from annotator.selectors.study_texts import language_states
from annotator.selectors.versions import version_diff
from annotator.services.images import images_add
from annotator.services.study import study_update
from annotator.services.study_copy import study_duplicate
from tests.annotator.translated_study import KIND, bilingual, german, outdated, texts
from tests.bot import Bot
from tests.factories import make_study, make_user
from tests.pictures import picture

pytestmark = pytest.mark.django_db


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


def test_others_read_the_studys_own_language() -> None:
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


def own_questions(which: str) -> list[dict[str, Any]]:
    """The questions of the type as a study's own: their reasons differ."""
    return [vars(one) | {"reason": f"{one.reason} So."} for one in getattr(KIND, which)]


def test_what_is_missing_is_listed() -> None:
    study = bilingual()
    study = study_update(
        study=study, translations={"de": {"title": "Eulen", "exam": texts()["exam"][:1]}},
        instructions_text="Predict.", exam_own=own_questions("exam"), practice_own=own_questions("practice"),
    )  # fmt: skip
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


def test_texts_that_come_with_the_hit_type_are_named_with_their_languages_and_not_missing() -> None:
    ada = make_user("ada", staff=True)
    study = make_study(by=ada, items=1, practice_required=True, exam_required=True)
    client = Client()
    client.force_login(ada)
    where = f"/admin/annotator/study/{study.pk}/languages/"
    said = "The instructions, exam and practice of this study come with its HIT type, in English, "
    page = client.get(where).content.decode()
    assert f'{said}<span lang="de">Deutsch</span> and <span lang="ar">العربية</span>' in page
    assert "everything" not in page
    study = study_update(study=study, translations={"de": {"title": "Eulen"}})
    assert language_states(study)[0].missing == ()
    study = study_update(study=study, instructions_text="Predict.", practice_required=False)
    assert language_states(study)[0].missing == ("instructions",)
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
