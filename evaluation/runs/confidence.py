"""The model's probability of the answer that it gave, from the log probabilities of its tokens. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

#: A token of a reply and the natural logarithm of its probability.
Token = tuple[str, float]
_MARKED = re.compile(r"answer[\s*_`]*[:=][\s*_`]*(\S[^\n]*)", re.IGNORECASE)
_HELD = re.compile(r'"(?!thoughts"|confidence(?:_\w+)?")\w+"\s*:\s*"([^"]+)"')
#: A last line that says how sure the model is, which is no part of its answer.
_SURE = re.compile(r"\n[ \t*_`#>-]*confidence[ \t*_`]*[:=][^\n]*\s*\Z", re.IGNORECASE)
#: What may follow an answer on its line.
_AFTER = " \t\r\f\v*_`.!\"'})]"


def answer_confidence(text: str, tokens: Sequence[Token]) -> float | None:
    """The probability of the tokens of a reply's answer, from 0 to 1; None if the tokens don't match the text.

    The answer is the text after the last ``ANSWER:``, or every choice in a JSON object, or else the last line.
    Tokens before it, such as the model's thoughts, don't count, and neither does what a study has it say about its confidence.

    >>> round(answer_confidence("It helps.\\nANSWER: YES", [("It helps.\\n", -3.0), ("ANSWER:", -0.1), (" YES", -0.5)]), 3)
    0.607
    """
    if not tokens or "".join(token for token, _ in tokens) != text:
        return None
    spans = _spans(text)
    total, at, used = 0.0, 0, False
    for token, log_probability in tokens:
        end = at + len(token)
        if token.strip() and any(at < stop and end > start for start, stop in spans):
            total += log_probability
            used = True
        at = end
    return min(1.0, math.exp(total)) if used and not math.isnan(total) else None


def _spans(text: str) -> list[tuple[int, int]]:
    if text.lstrip().startswith(("{", "```")):
        held = [match.span(1) for match in _HELD.finditer(text)]
        if held:
            return held
    marked = list(_MARKED.finditer(text))
    if marked:
        start, value = marked[-1].start(1), marked[-1].group(1)
        return [(start, start + max(1, len(value.rstrip(_AFTER))))]
    whole = _SURE.sub("", text).rstrip()
    start = whole.rfind("\n") + 1
    return [(start, len(whole))] if re.search(r"\w", whole[start:]) else []
