"""How lists of marked passages are read: every form in steady time, exact words as they are, and nothing cut."""

from __future__ import annotations

import pytest

from annotator.hit_types.base import JSON, FieldErrors
from annotator.hit_types.declaration.document import document_read
from annotator.hit_types.declaration.making import case_of
from annotator.hit_types.declaration.passages import (
    MarkedPassage,
    PassageFault,
    PassageReader,
    passage_objects,
    passages_kept,
)
from annotator.hit_types.shapes import Option, Passages
from tests.annotator.hit_types.declaration.files import MORE_FILE, more_kinds

PAYLOAD, GOLD = case_of(more_kinds(), document_read(MORE_FILE.read_bytes()).value["examples"][0])
LINES = "\u2028\u0085"
MANY = 20_000
ASKED = Passages("text", (Option("tone", "Tone"),), (Option("minor", "Minor"),))


def read(written: str, text: str = "The cat sat.") -> list[MarkedPassage]:
    return PassageReader(text, ASKED).read(written)


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\u00a0", "\r\n"])
@pytest.mark.parametrize(
    "form",
    [
        'a/{}b!"', "{}a{}/{}b{}@", 'tone/minor: "cat"{}#{}x', 'tone/minor: {}cat{}#{}2{}x{}"', 'tone/minor:{}"{}', 'tone/minor: "cat{}\\" {}x',
        "tone/minor @1{}-{}3{}x", "-{}tone/minor{}", 'tone/minor: cat{}\\"{}\\"{}',
    ],
)  # fmt: skip
def test_no_number_of_blanks_makes_reading_slow(form: str, blank: str) -> None:
    """An expression that tries every way to divide the blanks takes hours here."""
    written = form.replace("{}", blank * MANY)
    assert passage_objects(written) in (
        [],
        [{"words": "cat", "nth": None, "category": "tone", "severity": "minor"}],
    )
    with pytest.raises(PassageFault):
        read(written)


def test_blanks_between_the_parts_do_not_matter_and_those_in_the_words_do() -> None:
    assert read('  tone  /  Minor  :\t"cat"   #  1  ;\r\n\r\n -  tone/minor: cat  ') == [
        MarkedPassage(4, 7, "tone", "minor")
    ]
    twice = "a b, a  b"
    assert read('tone/minor: "a  b"', twice) == [MarkedPassage(5, 9, "tone", "minor")]
    assert read('tone/minor: "a b"', twice) == [MarkedPassage(0, 3, "tone", "minor")]


def test_an_escape_that_json_does_not_have_is_read_as_it_is_written() -> None:
    assert passage_objects(r'tone/minor: "\q"')[0]["words"] == r"\q"


@pytest.mark.parametrize("sign", LINES)
def test_only_a_line_end_ends_a_line(sign: str) -> None:
    text = f"The cat{sign}tone/minor @0-3: sat."
    [marked] = read(f'tone/minor: "cat{sign}tone/minor @0-3: sat"', text)
    assert passages_kept(marked.line(text)) == [marked]
    response = about(text, errors=f'fact/minor: "cat{sign}tone"')
    reply = more_kinds().write_reply(PAYLOAD | {"story": text}, response, 0)
    assert f'ERRORS: fact/minor @4-12: "cat{sign}tone"\n' in reply


def test_long_lists_are_stored_whole_or_refused_with_their_length() -> None:
    text = "".join(f"{number:05d} " for number in range(3_000))
    whole = "\n".join(f"fact/minor @0-{len(text) - number}" for number in range(1, 5))
    stored = about(text, errors=whole)["errors"]
    assert len(stored) > 4 * 17_000
    reply = more_kinds().write_reply(PAYLOAD | {"story": text}, about(text, errors=whole), 0)
    assert about(text, **more_kinds().parse_reply(reply, PAYLOAD | {"story": text}, 0))["errors"] == stored
    with pytest.raises(FieldErrors) as refused:
        about(text, errors=whole + " " * 100_000)
    assert "have 100,0" in refused.value.errors["errors"]
    assert "at most 100,000 can be stored; mark shorter or fewer passages" in refused.value.errors["errors"]


def about(story: str, **changes: str) -> JSON:
    return more_kinds().parse_response(PAYLOAD | {"story": story}, GOLD | changes, 0)
