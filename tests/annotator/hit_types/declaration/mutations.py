"""Valid files of HIT types with one random fault each."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from annotator.hit_types.declaration.document import document_read
from tests.annotator.hit_types.declaration.files import ARMS_FILE, KINDS_FILE, MORE_FILE, PICTURES_FILE

#: What may stand anywhere in a broken file.
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 3, 10**17, 1.5, "", " ", "yes", "none", "equal", "arm", "points", "clear", "§", "a" * 30_000, "$x",
    "\u202e", "{{x}}", "## system", [], {}, [[]], [None], {"a": 1}, ["points", "points"], {"label": "x"}, {"kind": "choice"},
)  # fmt: skip
#: Pieces of text that break YAML, or mean something in it.
PIECES = (
    "\t",
    ":",
    "- ",
    "&a ",
    "*a",
    "!!set ",
    "|",
    "'",
    '"',
    "{",
    "]",
    "\n---\n",
    "<<: ",
    "#",
    "%",
    "@",
    "\x00",
    "\ud800",
    "? ",
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a value below its top."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in inner for found in ((*path, key), *places(one, (*path, key)))]


#: Each file's text, value and places; every kind of question is in one of them.
FILES = [
    (file.read_text(encoding="utf-8"), value, places(value))
    for file in (KINDS_FILE, MORE_FILE, PICTURES_FILE, ARMS_FILE)
    for value in [document_read(file.read_bytes()).value]
]


def mutated(rng: Random) -> str:
    """A whole file with one change: of its text, or of a value, as JSON."""
    text, whole, found = rng.choice(FILES)
    if rng.random() < 0.3:
        at = rng.randrange(len(text))
        return text[:at] + rng.choice(PIECES) + text[at + rng.choice((0, 0, 1, 40)) :]
    value = json.loads(json.dumps(whole))
    *above, last = rng.choice(found)
    held = value
    for step in above:
        held = held[step]
    change = rng.randrange(4)
    if change == 0:
        del held[last]
    elif change == 1:
        held[last] = rng.choice(ODD)
    elif change == 2 and isinstance(held, dict):
        held[str(rng.choice(ODD))[:60]] = held.pop(last)
    else:
        other = value
        for step in rng.choice(found):
            other = other[step]
        held[last] = json.loads(json.dumps(other))
    return json.dumps(value)
