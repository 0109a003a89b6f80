"""Which version of the instructions a person has read, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from annotator.hit_types.base import Example, HitType
from annotator.models import Participation
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type
from annotator.selectors.study_texts import texts_here


@dataclass(frozen=True)
class Passage:
    """A paragraph or worked example that was added (``new``) or removed; ``example`` is the title of an example."""

    new: bool
    markdown: str = ""
    example: str = ""


@dataclass(frozen=True)
class InstructionsChange:
    """What has changed since a person read the instructions; ``version`` is the number of the study's current version."""

    version: int
    passages: Sequence[Passage]


def instructions_known(participation: Participation, snapshot: int | None) -> int | None:
    """The snapshot whose instructions a person had read when they worked under ``snapshot``; None if that wasn't kept.

    It is ``snapshot`` itself if its instructions are the ones that they confirmed.
    """
    seen = participation.instructions_seen_id
    if seen is None or snapshot is None or _text(seen) == _text(snapshot):
        return snapshot if seen else None
    return seen


def instructions_changed(participation: Participation) -> InstructionsChange | None:
    """The changes that a person must be shown; None if the current text is the one that they confirmed."""
    seen, current = participation.instructions_seen_id, participation.study.snapshot_id
    if seen is None or current is None or seen == current or _text(seen) == _text(current):
        return None
    study = participation.study
    version = study.snapshots.values_list("number", flat=True).get(pk=current)
    before, after = _shown(seen, current)
    return InstructionsChange(version, passages_changed(study_hit_type(study), before=before, after=after))


def passages_changed(kind: HitType, *, before: str, after: str) -> list[Passage]:
    """The differences between two versions of the instructions, in order: what was removed, then what was added.

    Paragraphs and worked examples are compared as a whole. A paragraph that was moved counts as both.
    """
    old, new = list(_passages(kind, before)), list(_passages(kind, after))
    found: list[Passage] = []
    for what, old_from, old_to, new_from, new_to in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if what == "equal":
            continue
        found += [Passage(False, *shown) for *shown, _ in old[old_from:old_to]]
        found += [Passage(True, *shown) for *shown, _ in new[new_from:new_to]]
    return found


def _passages(kind: HitType, text: str) -> Iterator[tuple[str, str, str]]:
    """The passages of a text: Markdown, the title of an example, and its content, by which examples are compared."""
    for part in kind.read_instructions(text):
        if isinstance(part, Example):
            content = repr((part.payload, part.response, part.reasoning))
            yield "", part.title.partition(": ")[2] or part.title, content
        else:
            yield from ((one.strip("\n"), "", "") for one in part.markdown.split("\n\n") if one.strip())


def _shown(before: int, after: int) -> tuple[str, str]:
    """Both texts in the language of the page, if both have it and it differs; otherwise in the study's own."""
    texts = [texts_here(snapshot_content(one)).get("instructions_text", "") for one in (before, after)]
    return (texts[0], texts[1]) if all(texts) and texts[0] != texts[1] else (_text(before), _text(after))


def _text(snapshot: int) -> str:
    return str(snapshot_content(snapshot)["instructions"])
