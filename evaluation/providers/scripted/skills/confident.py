"""How sure the scripted model says it is, in one more line of its reply, if the question asks for one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from evaluation.providers.scripted.ask import Ask
from evaluation.providers.scripted.world import pick

_ASKED = re.compile(r"\n\nAlso say how [^\n]*CONFIDENCE:[^\n]*\Z")
_STEPS = ("SLIGHTLY SURE", "MODERATELY SURE", "VERY SURE", "COMPLETELY SURE")
_PERCENT = ("60", "70%", "85", "90%", "95")
#: The last line of a reply that says it.
LINE = re.compile(r"\nCONFIDENCE: ([^\n]*)\Z")


def confident(ask: Ask, answer: Callable[[Ask], str]) -> str | None:
    """The reply to the question without this request, and a line for it; the option ``confidence`` has other spellings."""
    asked = _ASKED.search(ask.text)
    if asked is None:
        return None
    said = answer(replace(ask, text=ask.text[: asked.start()]))
    usual = _STEPS if "VERY SURE" in asked.group() else _PERCENT
    spellings = tuple(ask.options.confidence.split("|")) if ask.options.confidence else usual
    chosen = pick(spellings, "confidence", ask.options.name, ask.options.seed, ask.text, *ask.drawn)
    return f"{said}\nCONFIDENCE: {chosen}" if chosen else said
