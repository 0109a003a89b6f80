"""What the scripted model answers from: a fixed toy world, in which similar questions have similar answers.

The answer to a question depends on its two longest content words and on whether it is negated. So a follow-up about
the same subject has the same answer, a negated one has the opposite answer, and one about another subject has an
unrelated answer. Simulators can therefore be right for a reason, and can be wrong.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NEGATION = re.compile(
    r"\b(?:no|not|never|without|none|nobody|cannot|can['’]t|[a-z]+n['’]t|unable|fail(?:s|ed)?|lacks?|opposite|instead)\b",
    re.IGNORECASE,
)
_STOP = """
a about after all also although an and any are as at be because been before being both but by can could did do does
doing during each either every few follow following for from further had has have having he her here hers him his how i
if in into is it its just likely may me might more most much must my neither no nor not now of off on once one only or
other our out over own question same she should since so some still such than that the their theirs them then there
these they this those through to too under until up upon very was we were what when where whether which while who whom
whose why will with would yes you your robot answer
"""
STOP_WORDS = frozenset(_STOP.split())


def chance(*parts: object) -> float:
    """A number in [0, 1) that is a fixed function of its parts.

    >>> chance("a", 1) == chance("a", 1) != chance("a", 2)
    True
    """
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def pick(options: list[str] | tuple[str, ...], *parts: object) -> str:
    """One of the options, fixed by the parts."""
    return options[int(chance(*parts) * len(options))]


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Content words, lower case, in order, each once."""
    found = (word.lower().replace("’", "'") for word in _WORD.findall(text))
    return tuple(dict.fromkeys(word for word in found if word not in STOP_WORDS and len(word) > 1))


def core(text: str) -> frozenset[str]:
    """The two longest content words: what a question is about."""
    return frozenset(sorted(words(text), key=lambda word: (-len(word), word))[:2])


def negated(text: str) -> bool:
    return len(_NEGATION.findall(text)) % 2 == 1


def truth(question: str, seed: int = 0) -> bool:
    """The world's answer to a yes/no question.

    >>> truth("Can penguins cross the equator?") != truth("Can penguins never cross the equator?")
    True
    """
    return (chance("truth", seed, *sorted(core(question))) < 0.5) != negated(question)


def choice(question: str, options: list[str], seed: int = 0) -> int:
    """The index of the option that the world prefers: the one that shares most words with the question; ties are drawn."""
    about = set(words(question))
    return max(
        range(len(options)),
        key=lambda i: (len(about & set(words(options[i]))), chance("choice", seed, options[i])),
    )


def overlap(text: str, other: str) -> float:
    """The share in [0, 1] of a text's content words that the other text has too (by their first five letters)."""
    ours = {word[:5] for word in words(text)}
    return len(ours & {word[:5] for word in words(other)}) / len(ours) if ours else 0.0


def sentences(text: str) -> list[str]:
    """
    >>> sentences("Owls fly. Do they? Yes.")
    ['Owls fly.', 'Do they?', 'Yes.']
    """
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]
