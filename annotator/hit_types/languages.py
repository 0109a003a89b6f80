"""How models say yes, no and "answer" in other languages than English, for studies whose items are in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """The spellings of a language, in lower case; ``name`` is the language's own name."""

    name: str
    yes: tuple[str, ...]
    no: tuple[str, ...]
    answer: tuple[str, ...]


ENGLISH = "en"
#: By ISO 639-1 code. English is always read as well.
WORDS: Mapping[str, Words] = {
    "ar": Words("العربية", ("نعم",), ("لا", "كلا"), ("الإجابة", "الجواب", "إجابة")),
    "de": Words("Deutsch", ("ja",), ("nein",), ("antwort",)),
    "es": Words("español", ("sí",), ("no",), ("respuesta",)),
    "fr": Words("français", ("oui",), ("non",), ("réponse", "reponse")),
    "hi": Words("हिन्दी", ("हाँ", "हां"), ("नहीं",), ("उत्तर", "जवाब")),
    "it": Words("italiano", ("sì",), ("no",), ("risposta",)),
    "ja": Words("日本語", ("はい",), ("いいえ",), ("答え", "回答")),
    "ko": Words("한국어", ("예", "네"), ("아니요", "아니오"), ("답", "정답", "답변")),
    "nl": Words("Nederlands", ("ja",), ("nee",), ("antwoord",)),
    "pl": Words("polski", ("tak",), ("nie",), ("odpowiedź", "odpowiedz")),
    "pt": Words("português", ("sim",), ("não",), ("resposta",)),
    "ru": Words("русский", ("да",), ("нет",), ("ответ",)),
    "tr": Words("Türkçe", ("evet",), ("hayır", "hayir"), ("cevap", "yanıt", "yanit")),
    "zh": Words("中文", ("是", "是的"), ("否", "不是"), ("答案", "回答")),
}
#: (code, name) for a form.
LANGUAGES: tuple[tuple[str, str], ...] = (
    (ENGLISH, "English"),
    *((code, words.name) for code, words in WORDS.items()),
)
