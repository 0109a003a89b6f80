"""The summary of a report: at most five sentences and one figure, taken from its sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaluation.reports.content import Figure, Section
from evaluation.reports.words import LEAST_CASES, enough_cases, listed

#: At most this many sentences.
SENTENCES = 5
#: Sections on what was judged, how far raters agree, and how simulators compare; every summary uses them.
FIRST, LAST = ("data", "agreement"), "calibration"
#: Sections that repeat findings in other words (agreement) or report none.
OTHERS = ("analysis-plan", "conduct", "method", "p1-table-3", "p2-table-2", "p3-table-18")


def summary_of(sections: Sequence[Section]) -> list[Section]:
    """What was judged, how far raters agree, what the study measures, and how a simulator compares; none without prose. A finding
    on too few cases (``words.LEAST_CASES``) isn't repeated; a note names its section.

    The figure is the first one of a section that measures explanations, else the first of agreement; it's shown in
    its own section too.
    """
    by = {section.id: section for section in sections}
    measured = [s for s in sections if s.id not in (*FIRST, LAST, *OTHERS)]
    telling = [
        section for section in sections if section.prose and section in (*measured, *_of(by, *FIRST, LAST))
    ]
    few = [section.title for section in telling if not enough_cases(section.prose[0])]
    said = [text for text in _first(_of(by, *FIRST)) if enough_cases(text)]
    closing = [text for text in _first(_of(by, LAST)) if enough_cases(text)]
    room = SENTENCES - len(said) - len(closing)
    said += [*[text for text in _first(measured) if enough_cases(text)][:room], *closing]
    if not said:
        return []
    blocks = _figure([*measured, *by.values()])
    return [Section(id="summary", title="Summary", prose=said, blocks=blocks, notes=_too_few(few))]


def _of(by: Mapping[str, Section], *names: str) -> list[Section]:
    return [by[name] for name in names if name in by]


def _first(sections: Sequence[Section]) -> list[str]:
    """Each section's first sentence, where it has one."""
    return [section.prose[0] for section in sections if section.prose]


def _too_few(titles: Sequence[str]) -> list[str]:
    """A note on the sections whose findings are based on too few cases for a summary."""
    if not titles:
        return []
    named = listed([f"“{title}”" for title in titles])
    return [
        f"Not summed up, because they are based on fewer than {LEAST_CASES} cases: the findings of {named}."
    ]


def _figure(sections: Sequence[Section]) -> list[Figure]:
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Figure) and block.form == "intervals":
                return [replace(block, id="summary-figure", number="")]
    return []
