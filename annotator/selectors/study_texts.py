"""A study's texts in the language of the page: title, summary, consent, instructions, practice and exam."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import get_language

from annotator.core.canonical import digest_of, text_digest
from annotator.core.language import Language, languages
from annotator.hit_types.base import HitType, Question
from annotator.hit_types.built_in import (
    WRITTEN_IN,
    instructions_in,
    is_own_question,
    is_own_text,
    question_in,
)
from annotator.hit_types.translations import QUESTIONS, each_text, question_translated
from annotator.models import Study
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type

Rules = Mapping[str, Any]
#: Text of a study -> its name on pages.
TITLES = {
    "title": "title",
    "summary": "summary",
    "consent_text": "consent text",
    "instructions_text": "instructions",
}


def texts_here(rules: Rules) -> Mapping[str, Any]:
    """The translated texts of a snapshot in the language of the page; empty if there are none."""
    found: Mapping[str, Any] = rules.get("translations", {}).get(get_language() or "", {})
    return found


def consent_text(rules: Rules) -> str:
    return str(texts_here(rules).get("consent_text") or rules["consent_text"])


def consent_digests(rules: Rules) -> list[str]:
    """The digests of the consent text in every language: agreeing to any of them is agreeing to the study's text."""
    every = [
        rules["consent_text"],
        *(translation.get("consent_text") for translation in rules.get("translations", {}).values()),
    ]
    return [text_digest(text) for text in every if text]


@dataclass(frozen=True)
class TextHere:
    """A text as a page shows it, and its language."""

    text: str
    language: str


@dataclass(frozen=True)
class QuestionHere:
    """A question as a page shows it, and the language of its texts."""

    question: Question
    language: str


def consent_here(rules: Rules, *, own: str) -> TextHere:
    """The consent text, in the language of the page if the study has it; ``own`` is the study's language."""
    return TextHere(consent_text(rules), _here() if texts_here(rules).get("consent_text") else own)


def instructions_here(rules: Rules, *, own: str) -> TextHere:
    """The instructions: the study's translation, else the one that comes with the HIT type, else the original.

    ``own`` is the study's language; the instructions of a HIT type are written in English.
    """
    if text := texts_here(rules).get("instructions_text"):
        return TextHere(str(text), _here())
    original, kind = str(rules["instructions"]), rules["hit_type"]
    if text := instructions_in(kind, _here(), original):
        return TextHere(text, _here())
    return TextHere(original, WRITTEN_IN if is_own_text(kind, original) else own)


def question_here(question: Question, rules: Rules, which: str, *, own: str) -> QuestionHere:
    """A question of the ``exam`` or the ``practice`` in the language of the page, as ``instructions_here`` finds it.

    Its correct answer is the same.
    """
    kind = rules["hit_type"]
    built_in = question_in(kind, _here(), which, question)
    for translations in (texts_here(rules).get(which, ()), [built_in] if built_in else ()):
        if any(translation["key"] == question.key for translation in translations):
            return QuestionHere(question_translated(question, translations), _here())
    return QuestionHere(question, WRITTEN_IN if is_own_question(kind, which, question) else own)


def _here() -> str:
    return get_language() or WRITTEN_IN


def draft_rules(study: Study, kind: HitType) -> Rules:
    """The texts of a study as it is now, in the form of a snapshot's."""
    return {
        "hit_type": study.hit_type,
        "translations": study.translations,
        "consent_text": study.consent_text,
        "instructions": study.instructions_text or kind.instructions,
    }


def study_text(study: Study, name: str) -> str:
    """The ``title`` or ``summary`` of a study in the language of the page; no query if the study was loaded whole."""
    return str(_translated(study, name) or getattr(study, name))


def study_text_language(study: Study, name: str) -> str:
    """The language in which ``study_text`` is; empty if there is no text."""
    if _translated(study, name):
        return _here()
    return str(getattr(study, "language", "")) if getattr(study, name, "") else ""


def _translated(study: Study, name: str) -> str:
    translations = vars(study).get("translations")
    if translations is None and getattr(study, "snapshot_id", None):
        translations = snapshot_content(study.snapshot_id).get("translations")
    return str((translations or {}).get(get_language() or "", {}).get(name) or "")


@dataclass(frozen=True)
class LanguageState:
    """What a study has in one language: ``texts`` as they are stored, and in words what is ``missing``, and what is
    ``outdated``: its original has changed since it was translated."""

    language: Language
    texts: Mapping[str, Any]
    missing: tuple[str, ...]
    outdated: tuple[str, ...] = ()

    @property
    def begun(self) -> bool:
        return bool(self.texts)


def language_states(study: Study) -> list[LanguageState]:
    """Every language into which a study can be translated, with what is missing in each."""
    own = original_texts(study)
    return [
        LanguageState(
            language,
            texts := study.translations.get(language.code, {}),
            tuple(_missing(own, texts, _of_type(study, own, language.code))),
            tuple(_outdated(own, texts, study.translated_from.get(language.code, {}))),
        )
        for language in languages()
        if language.code != study.language
    ]


@dataclass(frozen=True)
class QuestionState:
    """A question of the ``exam`` or the ``practice`` in one language: its translation, if there is one, and whether the
    original has changed since."""

    which: str
    original: Question
    stored: Mapping[str, Any] | None
    outdated: bool

    @property
    def finished(self) -> bool:
        return self.stored is not None and not self.outdated


def question_states(study: Study, code: str) -> list[QuestionState]:
    """Every question that can be translated, in the order of the practice and the exam."""
    kind = study_hit_type(study)
    own = original_texts(study)
    now, made_from = original_digests(own), study.translated_from.get(code, {})
    texts = study.translations.get(code, {})
    found = []
    for which, questions in (("practice", kind.practice), ("exam", kind.exam)):
        stored = {one["key"]: one for one in texts.get(which, ())}
        for one in questions if own[which] else ():
            name = f"{which} {one.key}"
            changed = name in made_from and made_from[name] != now[name]
            found.append(QuestionState(which, one, stored.get(one.key), one.key in stored and changed))
    return found


def original_texts(study: Study) -> dict[str, Any]:
    """The texts that can be translated, in the study's own language; questions as ``key``, ``payload`` and ``reason``."""
    kind = study_hit_type(study)
    questions = {
        "exam": kind.exam if study.exam_required else (),
        "practice": kind.practice if study.practice_required else (),
    }
    return {
        "title": study.title,
        "summary": study.summary,
        "consent_text": study.consent_text,
        "instructions_text": study.instructions_text or ("" if kind.external else kind.instructions),
        **{
            name: [{"key": one.key, "payload": one.payload, "reason": one.reason} for one in those]
            for name, those in questions.items()
        },
    }


def texts_of_type(study: Study) -> list[str]:
    """Which texts come with the HIT type, because the study has none of its own."""
    kind = study_hit_type(study)
    texts = {
        "instructions": kind.instructions and not kind.external and not study.instructions_text,
        "exam": kind.exam and study.exam_required and not study.exam_own,
        "practice": kind.practice and study.practice_required and not study.practice_own,
    }
    return [name for name, used in texts.items() if used]


def original_digests(own: Mapping[str, Any]) -> dict[str, str]:
    """The digest of each original text, by its name in ``each_text``."""
    return {name: digest_of(text) for name, text in each_text(own).items()}


def _outdated(own: Mapping[str, Any], texts: Mapping[str, Any], made_from: Mapping[str, str]) -> list[str]:
    """The translated texts whose originals aren't those that they were made from."""
    now = original_digests(own)
    changed = [
        name
        for name in each_text(texts)
        if name in now and name in made_from and made_from[name] != now[name]
    ]
    found = [TITLES[name] for name in changed if name in TITLES]
    for name in QUESTIONS:
        if those := [one for one in changed if one.startswith(f"{name} ")]:
            found.append(f"{name} ({len(those)} of {len(own[name])} questions)")
    return found


def _of_type(study: Study, own: Mapping[str, Any], code: str) -> set[str]:
    """The texts that come with the HIT type in this language, by their names in ``each_text``."""
    found = (
        {"instructions_text"} if instructions_in(study.hit_type, code, own["instructions_text"]) else set()
    )
    for which in QUESTIONS:
        for one in own[which]:
            question = Question(one["key"], one["payload"], {}, one["reason"])
            if question_in(study.hit_type, code, which, question):
                found.add(f"{which} {one['key']}")
    return found


def _missing(own: Mapping[str, Any], texts: Mapping[str, Any], of_type: Collection[str]) -> list[str]:
    found = []
    for name, title in TITLES.items():
        if own[name] and name not in of_type and not texts.get(name):
            found.append(title)
    for name in QUESTIONS:
        done = {one["key"] for one in texts.get(name, ())}
        left = [one for one in own[name] if one["key"] not in done and f"{name} {one['key']}" not in of_type]
        if left:
            found.append(f"{name} ({len(left)} of {len(own[name])} questions)")
    return found
