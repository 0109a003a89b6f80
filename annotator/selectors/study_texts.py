"""A study's texts in the language of the page: title, summary, consent, instructions, practice and exam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import get_language

from annotator.core.canonical import digest_of, text_digest
from annotator.core.language import Language, languages
from annotator.hit_types.base import HitType, Question
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
        *(one.get("consent_text") for one in rules.get("translations", {}).values()),
    ]
    return [text_digest(text) for text in every if text]


def instructions_text(rules: Rules) -> str:
    return str(texts_here(rules).get("instructions_text") or rules["instructions"])


def question_here(question: Question, rules: Rules, which: str) -> Question:
    """A question of the ``exam`` or the ``practice`` in the language of the page. Its correct answer is the same."""
    return question_translated(question, texts_here(rules).get(which, ()))


def draft_rules(study: Study, kind: HitType) -> Rules:
    """The texts of a study as it is now, in the form of a snapshot's."""
    return {
        "translations": study.translations,
        "consent_text": study.consent_text,
        "instructions": study.instructions_text or kind.instructions,
    }


def study_text(study: Study, name: str) -> str:
    """The ``title`` or ``summary`` of a study in the language of the page; no query if the study was loaded whole."""
    translations = vars(study).get("translations")
    if translations is None and getattr(study, "snapshot_id", None):
        translations = snapshot_content(study.snapshot_id).get("translations")
    return str((translations or {}).get(get_language() or "", {}).get(name) or getattr(study, name))


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
            tuple(_missing(own, texts)),
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
    """Which texts come with the HIT type, in English, because the study has none of its own."""
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


def _missing(own: Mapping[str, Any], texts: Mapping[str, Any]) -> list[str]:
    found = []
    for name, title in TITLES.items():
        if own[name] and not texts.get(name):
            found.append(title)
    for name in QUESTIONS:
        done = {one["key"] for one in texts.get(name, ())}
        left = [one for one in own[name] if one["key"] not in done]
        if left:
            found.append(f"{name} ({len(left)} of {len(own[name])} questions)")
    return found
