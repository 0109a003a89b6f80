"""Forty spellings of ten people's names and ids in five scripts: none is left in a screened text."""

from __future__ import annotations

import unicodedata

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
        assert text not in shown
        assert letters_of(name) not in letters_of(shown)
        assert "removed]" in shown
    assert screen.found.total() >= 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Jürgen Müller", "Juergen Mueller"),
        ("Jürgen Müller", "Jurgen Mueller"),
        ("Jürgen Müller", "JÜRGEN MULLER"),
        ("Juergen Mueller", "Jürgen Müller"),
        ("Juergen Mueller", unicodedata.normalize("NFD", "Jürgen Mueller")),
        ("mueller99x", "m%C3%BCller99x"),
        ("Søren Åkesson", "Soeren Aakesson"),
        ("Søren Åkesson", "Soren Akesson"),
        ("Soeren_Aa", "søren å"),
        ("Weißbrodt", "Weissbrodt"),
        ("Weissbrodt", "WEIẞBRODT"),
        ("Ægir Þorn", "Aegir Thorn"),
        ("John Smith", "J. Smith"),
        ("John Smith", "J Smith"),
        ("John Smith", "J.Q. Smith"),
        ("John Smith", "John Q. Smith"),
        ("John Smith", "John Quincy Adams Smith"),
        ("John Smith", "Smith, J."),
        ("John Smith", "John S."),
        ("Jürgen Müller", "J. Mueller"),
        ("Ирина Волкова", "И. Волкова"),
        ("Ирина Волкова", "Ирина Петровна Волкова"),
    ],
)
def test_umlauts_in_two_letters_initials_and_middle_names(name: str, text: str) -> None:
    assert TextScreen([name]).text(f"He said: {text} it was") == "He said: [name removed] it was"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Will Power", "I will never have power over W. or P., will I? Will the power go?"),
        ("Irene Smith", "I smith, like a Smith I know; a blacksmith."),
        ("Anna Young", "A Young man; young A. said."),
        ("Bär", "The barber bars a bear"),
        ("Muller", "A fuller mullet"),
        ("owl_fan_77", "100% of owls = 77 fans & all; C:\\new\\owl"),
        ("guess_who1", "Z3Vlc3M and abcdef0123456789abcdef"),
    ],
)
def test_ordinary_words_are_no_names(name: str, text: str) -> None:
    assert TextScreen([name]).text(text) == text


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
        ("joe%40example.org", "email address"),
        ("joe&#64;example.org", "email address"),
        ("am9lLnNtaXRoQGV4YW1wbGUub3Jn", "email address"),
        ("joe [at] example [dot] org", "email address"),
        ("joe(at)example.org", "email address"),
        ("joe at mail dot example dot org", "email address"),
        ("@other_bird.77", "account name"),
        ("instagram.com/other_bird", "account name"),
        ("https://t.me/other_bird", "account name"),
        ("u/other-bird", "account name"),
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
        "Call 555-0187!",
        "call me at 5550187",
        "Phone: 555 0187",
        "my number is 901 82 01",
        "Tel. 901820",
        "cell: 555-0187",
        "Handynummer? Handy: 9018201",
        "电话：9018201",
        "Mobile number 5550187",
    ],
)
def test_a_local_number_is_removed_after_a_word_that_says_what_it_is(text: str) -> None:
    screen = TextScreen()
    shown = screen.text(text)
    assert not any(char.isdigit() for char in shown), shown
    assert dict(screen.found) == {"phone number": 1}


@pytest.mark.parametrize(
    "text",
    [
        "It took 12:30:05 and 14 of 20 owls.",
        "3.14159 and 1,000",
        "A score of 0.823456",
        "x² + y² ≠ ½",
        "Yes: no.",
        "I look at the dot in the picture, at noon @ 5",
        "A cell contains 20000 genes; handy 100000; ring 12345 times; text 100000 words",
        "The number is 1234567, between 200-1000 and 555-0187.",
        "and/or u/s, he/she, github.com is a site, 3#4567",
        "x[name], 0[name removed], w\\^abcdef",
        "uncharacteristically misunderstandings AAAABBBBCCCCDDDD",
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
