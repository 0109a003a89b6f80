"""The languages of annotators' pages, and which one to use.

A page is shown in the first of these that there is:

1. the language that the person chose: in this browser, else in their account;
2. on the pages of a study, a language that the study is written in: the first one that the browser asks for, else the
   study's own;
3. a language that the browser asks for;
4. English.

Researchers' pages, the API and the commands are in English.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import override
from django.utils.translation.trans_real import parse_accept_lang_header


@dataclass(frozen=True)
class Language:
    """A language that annotators can choose. ``name`` is its own name, ``checked`` whether a speaker has signed it."""

    code: str
    name: str
    checked: bool
    rtl: bool


def languages() -> tuple[Language, ...]:
    """The languages of the annotators' pages, in the order of the settings."""
    return tuple(
        Language(code, str(name), code in settings.LANGUAGES_CHECKED, code in settings.LANGUAGES_BIDI)
        for code, name in settings.LANGUAGES
    )


def language_known(code: str | None) -> str:
    """The code itself if annotators' pages are translated into it; otherwise empty.

    >>> language_known("de"), language_known("xx"), language_known(None)
    ('de', '', '')
    """
    return code if code and code in dict(settings.LANGUAGES) else ""


def languages_accepted(header: str) -> Iterator[str]:
    """The languages of an ``Accept-Language`` header that there are, most wanted first.

    >>> list(languages_accepted("fr, de-AT;q=0.8, en;q=0.5"))
    ['de', 'en']
    """
    for code, _ in parse_accept_lang_header(header[:500].lower()):
        if known := language_known(code.split("-")[0]):
            yield known


def language_for_study(*, own: str, others: Collection[str], accepted: Iterable[str]) -> str:
    """The language of a study's pages for somebody who chose none; empty if no language of the study is known.

    ``own`` is the language in which the study is written, ``others`` those into which its texts are translated.

    >>> language_for_study(own="en", others=["de"], accepted=["ar", "de"])
    'de'
    >>> language_for_study(own="en", others=["de"], accepted=["ar"]), language_for_study(own="fr", others=[], accepted=["de"])
    ('en', '')
    """
    written = {own, *others}
    return next((code for code in accepted if code in written), language_known(own))


def language_of_person(*, chosen: str, own: str = "") -> override:
    """A context in which texts are in a person's language, for emails: the one they chose, else ``own``, else English."""
    return override(language_known(chosen) or language_known(own) or settings.LANGUAGE_CODE)
