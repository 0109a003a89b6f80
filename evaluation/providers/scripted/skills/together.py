"""Several tasks in one request, each answered as if it were the only one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from evaluation.providers.scripted.ask import Ask

_TASK = re.compile(r"^=== Task (\S+) ===$", re.MULTILINE)
#: An example's reply among the common instructions, whose answer isn't a form that the instructions list.
_EXAMPLE = re.compile(r"^\(a good reply\) (?:(?!\n\n)[\s\S])*?ANSWER:.*$", re.MULTILINE)


def together(ask: Ask, answer: Callable[[Ask], str]) -> str | None:
    """A JSON array of replies with the tasks' names, in a different order."""
    if '"task":' not in ask.system:
        return None
    marks = list(_TASK.finditer(ask.text))
    ends = [mark.start() for mark in marks[1:]] + [len(ask.text)]
    shared = _EXAMPLE.sub("", ask.text[: marks[0].start()]) if marks else ""
    pieces = [
        (mark.group(1), ask.text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=False)
    ]
    # Tasks without common instructions have their own.
    replies = [
        {"task": name, "reply": answer(replace(ask, text=text, system=shared.strip() or text))}
        for name, text in pieces
    ]
    return json.dumps(replies[::-1])
