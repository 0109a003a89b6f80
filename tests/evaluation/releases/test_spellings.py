"""Forty spellings of ten people's names and ids in five scripts: none is left in a screened text."""

from __future__ import annotations

import pytest

from annotator.core.spellings import letters_of, telling
from evaluation.releases.screening import LeakCheck, LeakFound, TextScreen
from tests.evaluation.releases.spellings import SPELLINGS

CASES = [(name, text) for name, texts in SPELLINGS.items() for text in texts]


def test_there_are_forty_spellings_of_ten_people() -> None:
    assert len(SPELLINGS) == 10
    assert len(CASES) >= 40


@pytest.mark.parametrize(("name", "text"), CASES)
def test_no_spelling_of_a_name_is_left(name: str, text: str) -> None:
    screen = TextScreen(SPELLINGS)
    for around in ("{}", "I am {}, thanks.", '{{"note": "{}"}}'):
        shown = screen.text(around.format(text))
        assert letters_of(name) not in letters_of(shown)
        assert "removed]" in shown
    assert screen.found.total() >= 3


@pytest.mark.parametrize(("name", "text"), [case for case in CASES if telling(case[0])])
def test_the_last_check_finds_every_spelling(name: str, text: str) -> None:
    with pytest.raises(LeakFound):
        LeakCheck([name])(f'{{"id": 1, "text": "before {text} after"}}')


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("joe@localhost", "email address"),
        ("joe＠example.org", "email address"),
        ("me.and-you+x@mail.example.co", "email address"),
        ("10.20.30.40", "network address"),
        ("2001:db8::ff00:42:8329", "network address"),
        ("fe80::1", "network address"),
        ("+48 22 123 45 67", "phone number"),
        ("(212) 555-0187", "phone number"),
        ("0171 1234567", "phone number"),
        ("030/901820", "phone number"),
        ("0171.1234567", "phone number"),
        ("08-765 43 21", "phone number"),
        ("+44 20 7946 0958 ext. 12", "phone number"),
        ("１７１ ２３４ ５６７８", "phone number"),
        ("A2SUAM1J3GNN3B", "MTurk worker id"),
        ("5f1c2b3a4d5e6f7a8b9c0d1e", "Prolific id"),
    ],
)
def test_addresses_and_numbers_are_removed(text: str, kind: str) -> None:
    screen = TextScreen()
    assert screen.text(f"Write to {text}, please.") == f"Write to [{kind} removed], please."
    assert dict(screen.found) == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "It took 12:30:05 and 14 of 20 owls.",
        "3.14159 and 1,000",
        "A score of 0.823456",
        "x² + y² ≠ ½",
        "Yes: no.",
        "",
        "𝔘nicode ﬁts",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert TextScreen(["owl_fan_77"]).text(text) == text


def test_an_answer_that_was_chosen_stays() -> None:
    screen = TextScreen(["guess", "help"], labels=["cannot_guess", "helpful"])
    answer = {"helpful": "cannot_guess", "why": "I can't guess.", "marks": ["helpful"]}
    assert screen.value(answer) == {
        "helpful": "cannot_guess",
        "why": "I can't [name removed].",
        "marks": ["helpful"],
    }


def test_the_last_check_looks_across_the_pieces_of_a_file_and_into_html() -> None:
    check = LeakCheck(["owl_fan_77", "O'Brien-77x"])
    for pieces in ([b"... owl_f", b"an_77 ..."], [b"<p>O&#x27;Brien-77x</p>"]):
        with pytest.raises(LeakFound):
            list(check.checked(pieces))
    fine = [b"owls ", "é".encode()]
    assert list(check.checked(fine)) == fine


def test_digests_and_numbers_of_the_material_are_no_leaks() -> None:
    check = LeakCheck(["20260101", "cafe12", "anna", "12345678"])
    check('{"digest": "00cafe12ffab", "seconds": 20.260101, "key": "anna-12345678"}')


def test_many_names_take_no_longer() -> None:
    """A name is looked up by its first letters; the time is that of the text's length. 20,000 names, 2,000 texts."""
    names = [f"person_{number:05d}_x" for number in range(20_000)]
    screen = TextScreen(names)
    texts = [f"Answer {number} of nobody in particular, at some length." for number in range(2_000)]
    assert [screen.text(text) for text in texts] == texts
    assert screen.text("It was person 00042 x!") == "It was [name removed]!"
