"""Parsers of models' replies that make material: explanations, lists of questions and units. They never guess: a reply
that can't be parsed is refused with the reason. Judgments are parsed by the HIT types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.hit_types.base import Unparsable
from annotator.hit_types.replies import Labels, label_of, read_answer, read_object, tidy

_NUMBER = re.compile(
    r"^[ \t>*_#]*(?:(?!Response\b)[A-Z][a-z]+(?:[ -][A-Za-z]+){0,3}[ \t]+)?#?(\d{1,3})[ \t*_]*[.):][ \t*_]*",
    re.MULTILINE,
)
_BULLET = re.compile(r"^[ \t]*(?:[-*•–+]+|\d{1,3}[.)])[ \t]+(\S.*)$")
_SO = re.compile(
    r"(?:so|thus|therefore|hence)?,?\s*(?:the|my)\s+(?:final\s+)?answer\s+is:?\s*[\"'*_(]*([A-Za-z]+)[\"'*_).!]*\s*$",
    re.IGNORECASE,
)
_SO_RESPONSE = re.compile(
    r"(?:so|thus|therefore|hence)?,?\s*(?:candidate\s+)?response\s+([12])\s+is\s+(?:the\s+)?more\s+helpful(?:\s+(?:one|response))?[\"'*_).!]*\s*$",
    re.IGNORECASE,
)
_GUESS = re.compile(r"\banswer(?:s|:)?\s+(?:with\s+)?[\"'*_(]*(yes|no)[\"'*_).!]*\s*$", re.IGNORECASE)
_REFUSED = re.compile(
    r"^\W*(?:i['’]?m sorry|sorry|i (?:cannot|can['’]t|won['’]t|am unable|am not able)\b|as an ai\b|i must decline)",
    re.IGNORECASE,
)
_YES_NO = {"yes": ("yes", "true"), "no": ("no", "false")}
_ANSWERS: dict[str, Labels] = {
    "yes_no": _YES_NO,
    "preference": {f"response_{n}": (f"response {n}", f"candidate response {n}", str(n)) for n in (1, 2)},
    "multiple_choice": {letter: (letter.lower(), f"option {letter.lower()}") for letter in "ABCDEFGH"},
}
#: Marks of emphasis that models put around words; a single star between spaces or digits is left alone.
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
MAX_ENTRY = 20_000


def plain(text: str) -> str:
    """A reply without its reasoning, code fences and outer quotes; raises ``Unparsable`` for a refusal."""
    text = re.sub(r"^```[a-z]*\n|\n?```$", "", tidy(text).strip()).strip()
    if _REFUSED.search(text):
        raise Unparsable(f"the model refused: {text[:80]!r}", kind="refusal")
    if not text:
        raise Unparsable("the reply is empty")
    return text


def reasoning_then_answer(text: str, task: str) -> tuple[str, str]:
    """``(explanation, answer)`` of a reply that reasons first and closes with the answer.

    >>> reasoning_then_answer("Owls fly. So the answer is **Yes**.", "yes_no")
    ('Owls fly.', 'yes')
    >>> reasoning_then_answer("Owls fly.", "yes_no")
    Traceback (most recent call last):
    ...
    annotator.hit_types.shapes.Unparsable: the reply does not close with its answer
    """
    text = plain(text)
    found = (_SO_RESPONSE if task == "preference" else _SO).search(text)
    if found is None:
        raise Unparsable("the reply does not close with its answer")
    answer = answer_of(found.group(1), task)
    explanation = text[: found.start()].strip().rstrip("*_ ")
    if not explanation:
        raise Unparsable("the reply gives an answer without any reasoning")
    return explanation, answer


def answer_of(value: str, task: str) -> str:
    """An answer in the form stored with material: yes, no; a letter; response_1."""
    value = value.strip(" \t\n.\"'*_()[]")
    if task == "yes_no":
        label = label_of(value, _YES_NO)
        if label is None:
            raise Unparsable(f"{value[:40]!r} is neither yes nor no")
        return label
    if task == "preference":
        found = re.fullmatch(r"(?:(?:candidate )?response[ _])?([12])", value, re.IGNORECASE)
        if found is None:
            raise Unparsable(f"{value[:40]!r} is neither Response 1 nor Response 2")
        return f"response_{found.group(1)}"
    if re.fullmatch(r"[A-Ha-h]", value) is None:
        raise Unparsable(f"{value[:40]!r} is not the letter of an answer")
    return value.upper()


def marked_answer(text: str, task: str) -> str:
    """The answer after ``ANSWER:``, or of a reply that is clear about its answer in another way.

    >>> marked_answer("ANSWER: RESPONSE 2", "preference"), marked_answer("Yes.", "yes_no")
    ('response_2', 'yes')
    """
    return read_answer(plain(text), _ANSWERS[task])


def labelled(text: str, labels: Sequence[str]) -> dict[str, str]:
    """The parts of a reply under ``Label:`` headings: each label exactly once, in any order, and none empty.

    >>> labelled("Sure!\\nSummary: A.\\n**Explanation:** B.", ["Explanation", "Summary"])
    {'Summary': 'A.', 'Explanation': 'B.'}
    """
    text = plain(text)
    pattern = re.compile(
        rf"^[ \t\r*_#>]*({'|'.join(map(re.escape, labels))})[ \t*_]*(?::[ \t*_]*|$)",
        re.IGNORECASE | re.MULTILINE,
    )
    found = list(pattern.finditer(text))
    names = {label.lower(): label for label in labels}
    pieces: dict[str, str] = {}
    for match, piece in _pieces(text, found):
        name = names[match.group(1).lower()]
        if name in pieces:
            raise Unparsable(f"{name} is given twice", kind="ambiguous")
        pieces[name] = piece
    missing = [label for label in labels if not pieces.get(label)]
    if missing:
        raise Unparsable(f"the reply has no {' and no '.join(missing)}")
    return pieces


def reasons(text: str) -> str:
    """A reply that consists of reasons only; an initial "My reasons:" is removed.

    >>> reasons("Reasons: Owls have wings.")
    'Owls have wings.'
    """
    text = re.sub(
        r"^(?:here are )?(?:my |your |the )?(?:reasons?|explanation)\s*:\s*", "", plain(text), flags=re.I
    )
    if len(text.split()) < 3:
        raise Unparsable("the reply gives no reasons")
    return text.strip()


def numbered(text: str, most: int) -> list[str]:
    """The entries of a numbered list (or a JSON array of texts), in order, at most ``most``.

    Text before "1." is a preamble. Numbers must count up from 1, or all be 1; an entry may have several lines.
    Empty entries are left out. Raises ``Unparsable`` if there is no such list.

    >>> numbered("Here you are:\\n1. Can owls swim?\\n2) Can \\u201cemus\\u201d fly?\\n\\nHope this helps!", 5)
    ['Can owls swim?', 'Can "emus" fly?']
    """
    text = plain(text)
    entries = _json_list(text)
    if entries is None:
        marks = _counting(list(_NUMBER.finditer(text)))
        entries = [piece for _, piece in _pieces(text, marks)]
        if entries:
            entries[-1] = entries[-1].split("\n\n")[0].strip()
    entries = [_undressed(entry) for entry in entries]
    entries = [entry for entry in entries if entry]
    if not entries:
        raise Unparsable("the reply has no numbered list")
    if any(len(entry) > MAX_ENTRY for entry in entries):
        raise Unparsable("an entry of the list is too long")
    return entries[:most]


def _undressed(entry: str) -> str:
    """An entry without emphasis, and without quotes around all of it.

    >>> _undressed("**Owls** see *well* at 2 * 3 m"), _undressed('"Owls" is a "word"'), _undressed('**"Owls fly."**')
    ('Owls see well at 2 * 3 m', '"Owls" is a "word"', 'Owls fly.')
    """
    entry = _EMPHASIS.sub("", entry).strip()
    return entry if '"' in entry[1:-1] else entry.strip('"').strip()


def _pieces(text: str, marks: Sequence[re.Match[str]]) -> list[tuple[re.Match[str], str]]:
    """The texts between each mark and the next."""
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [(mark, text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=False)]


def _counting(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    """The marks that count 1, 2, 3, ...; a number out of turn belongs to an entry's text.

    Markdown lets every entry be number 1.
    """
    if len(marks) > 1 and all(int(mark.group(1)) == 1 for mark in marks):
        return marks
    kept: list[re.Match[str]] = []
    for mark in marks:
        if int(mark.group(1)) == len(kept) + 1:
            kept.append(mark)
    return kept


def _json_list(text: str) -> list[str] | None:
    """The texts of a JSON array, or of an object whose only value is one."""
    if not text.startswith(("[", "{")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = read_object(text)
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return value if isinstance(value, list) and all(isinstance(entry, str) for entry in value) else None


@dataclass(frozen=True)
class Listed:
    """The good entries of a list, and what is wrong with each of the others."""

    entries: list[str]
    faults: list[str]


def sorted_out(entries: Iterable[str], read: Callable[[str], Any]) -> Listed:
    """Read each entry by itself, so that a bad one doesn't take the others with it.

    Raises the first entry's ``Unparsable`` if none is good.

    >>> sorted_out(["Can owls swim?", "Owls swim."], question_of).faults
    ["not a question: 'Owls swim.'"]
    """
    good, faults = [], []
    for entry in entries:
        try:
            good.append(read(entry))
        except Unparsable as error:
            faults.append(str(error))
    if not good:
        raise Unparsable(faults[0] if faults else "the reply has no list")
    return Listed(good, faults)


def question_of(entry: str) -> str:
    """An entry as a question on one line; raises ``Unparsable`` if it doesn't end with a question mark."""
    line = " ".join(entry.split())
    if not line.rstrip("\"'*_").endswith("?"):
        raise Unparsable(f"not a question: {line[:60]!r}")
    return line


def questions(text: str, most: int) -> list[str]:
    """The questions of a numbered list, each on one line; entries that aren't questions are left out.

    >>> questions("1. Can owls swim?", 3)
    ['Can owls swim?']
    """
    return sorted_out(numbered(text, most), question_of).entries


def guessed_question(text: str) -> tuple[str, str]:
    """One follow-up question and the writer's own guess of the answer, yes or no, with which the reply ends.

    >>> guessed_question("Follow-up question: Can pigs fly?\\nGuess: Pigs have no wings. So the robot will likely answer no.")
    ('Can pigs fly?', 'no')
    """
    pieces = labelled(text, ["Follow-up question", "Guess"])
    question = question_of(pieces["Follow-up question"])
    guess = _GUESS.search(pieces["Guess"])
    if guess is None:
        raise Unparsable("the guess does not end with yes or no")
    return question, answer_of(guess.group(1), "yes_no")


def bullets(text: str) -> list[str]:
    """The entries of a list with dashes; raises ``Unparsable`` if there is none.

    >>> bullets("Elements:\\n- a key decision\\n* its cause")
    ['a key decision', 'its cause']
    """
    found = [
        _EMPHASIS.sub("", match.group(1)).strip()
        for line in re.split(r"\r\n?|\n", plain(text))  # an entry may contain Unicode's other line ends
        if (match := _BULLET.match(line))
    ]
    found = [entry for entry in found if entry]
    if not found:
        raise Unparsable("the reply has no list")
    return found
