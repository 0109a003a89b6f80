"""Check that a simulator's prompt shows the item, and nothing that people don't see at the same stage. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import Template

from annotator.hit_types.base import JSON, HitType, Stage, prompt_part
from annotator.hit_types.images import images_in_words

#: Texts shorter than this, such as yes and no, are found in any prompt.
SHORTEST = 12


def prompt_problems(*, kind: HitType, payload: JSON, presentation: JSON, text: str) -> list[str]:
    """The errors in a prompt, tried on one item, as sentences; empty if there are none.

    Of each stage, the prompt must show some of what people see then, nothing that they see only later, and nothing of
    the item that they never see. Raises what filling in the prompt raises.
    """
    payload = images_in_words(payload)  # as prompts have it
    stages = kind.stages(payload, presentation)
    found: list[str] = []
    before: JSON = {}
    for number, stage in enumerate(stages):
        chat = kind.prompt(payload, number, before, presentation, text=text)
        said = _plain("\n".join(message.content for message in chat))
        shown = set(_texts(stage))
        where = f"Stage “{stage.title}”: " if len(stages) > 1 else ""
        telling = {one for one in shown if len(one) >= SHORTEST} or shown
        if telling and not any(_plain(one) in said for one in telling):
            names = ", ".join(
                sorted(f"${name}" for name in kind.prompt_values(payload, number, before, presentation))
            )
            found.append(f"{where}The prompt never shows the item. Use one of its texts: {names}.")
        later = {one for other in stages[number + 1 :] for one in _texts(other)} - shown
        fixed = _plain(prompt_part(text, stage.name))  # a demonstration may happen to say the same
        hidden = [one for one in sorted(later) if _told(one, said, fixed, shown)]
        if hidden:
            found.append(f"{where}The prompt shows what people see only later: {_short(hidden[0])}")
        found += [f"{where}{problem}" for problem in _never_shown(kind, payload, stages, stage, text)]
        before |= {asked.name: (asked.options[0].value if asked.options else "") for asked in stage.fields}
    return list(dict.fromkeys(found))


def _told(later: str, said: str, fixed: str, shown: Iterable[str]) -> bool:
    """Whether a prompt contains a text of a later stage, other than in its fixed words or in what is shown already."""
    later = _plain(later)
    if len(later) < SHORTEST or any(later in _plain(one) for one in shown):
        return False
    return said.count(later) > fixed.count(later)


def _never_shown(kind: HitType, payload: JSON, stages: Iterable[Stage], stage: Stage, text: str) -> list[str]:
    """Names in a stage's prompt that stand for texts of the item which people never see."""
    seen = [_plain(one) for other in stages for one in _texts(other)]
    rules = {kind.variant_field, kind.part_field, kind.rule_field}
    problems = []
    for name in Template(prompt_part(text, stage.name)).get_identifiers():
        value = payload.get(name)
        if name in rules or not isinstance(value, str) or len(value) < SHORTEST:
            continue
        if not any(_plain(value) in one for one in seen):
            problems.append(
                f"${name} is a text of the item that people never see. Remove it from the prompt."
            )
    return problems


def _texts(stage: Stage) -> list[str]:
    return [text for block in stage.blocks for text in (block.text, *block.items) if text.strip()]


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _short(text: str) -> str:
    return f"“{text[:80]}…”" if len(text) > 80 else f"“{text}”"
