"""The committed translations: complete, compiled, with the same placeholders and markup as the English."""

from __future__ import annotations

import gettext
import re
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings

from foretell import env
from tests.annotator.web.catalogues import Entry, entries, source_strings

CODES = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
#: Placeholders of both kinds, tags with their attributes, and addresses: what must be the same in every language.
FIXED = re.compile(r"%\(\w+\)s|\{\w+\}|</?[a-z][^>]*>|name@example\.org")
every_language = pytest.mark.parametrize("code", CODES)


def path_of(code: str, suffix: str) -> Path:
    return Path(env.ROOT, "locale", code, "LC_MESSAGES", f"django.{suffix}")


def messages(code: str) -> list[Entry]:
    return [entry for entry in entries(path_of(code, "po")) if entry.text]


def fixed(text: str) -> Counter[str]:
    return Counter(FIXED.findall(text))


@every_language
def test_every_string_of_the_source_is_translated_and_no_other(code: str) -> None:
    known = {entry.key for entry in messages(code)}
    assert len(known) > 600
    assert source_strings() - known == set(), "run `make messages`, then translate these"
    assert known - source_strings() == set(), "run `make messages`: these are no longer used"


@every_language
def test_no_translation_is_missing_or_fuzzy(code: str) -> None:
    header = next(entry for entry in entries(path_of(code, "po")) if not entry.text).forms[0]
    forms = int(re.search(r"nplurals=(\d)", header)[1])  # type: ignore[index]
    assert forms == {"ar": 6, "de": 2}.get(code, forms)
    for entry in messages(code):
        assert "fuzzy" not in entry.flags, entry.text
        assert len(entry.forms) == (forms if entry.plural else 1), entry.text
        assert all(form.strip() for form in entry.forms.values()), entry.text


@every_language
def test_a_translation_has_the_same_placeholders_and_markup(code: str) -> None:
    for entry in messages(code):
        for form in entry.forms.values():
            assert fixed(form) == fixed(entry.text), (entry.text, form)
            assert form.startswith("\n") == entry.text.startswith("\n"), entry.text
            assert form.endswith("\n") == entry.text.endswith("\n"), entry.text


@every_language
def test_the_compiled_catalogue_matches_its_source(code: str) -> None:
    with path_of(code, "mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    for entry in messages(code):
        name = f"{entry.context}\x04{entry.text}" if entry.context else entry.text
        for number, form in entry.forms.items():
            assert compiled[(name, number) if entry.plural else name] == form, "run `make messages`"


@every_language
def test_a_translation_says_who_made_it(code: str) -> None:
    header = next(entry for entry in entries(path_of(code, "po")) if not entry.text).forms[0]
    made = re.search(r"X-Translated-By: (.+)", header)
    assert made
    assert (made[1] != "machine") == (code in settings.LANGUAGES_CHECKED), (
        "docs/translating.md: how a speaker signs"
    )


def test_the_check_finds_a_lost_placeholder() -> None:
    assert fixed("%(done)s tasks <b>now</b> {time}") != fixed("%(done)s Aufgaben <b>jetzt</b>")


def test_the_image_contains_the_catalogues() -> None:
    assert "COPY locale locale" in Path(env.ROOT, "Dockerfile").read_text(encoding="utf-8")
    assert "!locale" in Path(env.ROOT, ".dockerignore").read_text(encoding="utf-8").splitlines()
