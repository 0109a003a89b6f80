"""The labelled parts of a question: lines that start with "Follow-up question:" and the like."""

from __future__ import annotations

import re

_LABEL = re.compile(r"^([A-Z][\w'’ -]{1,60}?(?: \d+)?):[ \t]*(.*)$", re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    """Label in lower case -> its text, up to the next label. If a label occurs twice, the last one counts.

    >>> sections("Question: Can owls swim?\\nThe robot's explanation: Owls float.\\nThey paddle.")
    {'question': 'Can owls swim?', "the robot's explanation": 'Owls float.\\nThey paddle.'}
    """
    found = list(_LABEL.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {
        match.group(1).strip().lower().replace("’", "'"): (match.group(2) + text[match.end() : end]).strip()
        for match, end in zip(found, ends, strict=False)
    }


def named(parts: dict[str, str], *words: str) -> str:
    """The text of the last label that contains all these words; empty if none does."""
    hits = [text for label, text in parts.items() if all(word in label for word in words)]
    return hits[-1] if hits else ""
