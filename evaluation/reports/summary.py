"""The summary of a report: at most five sentences and one figure, taken from its sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaluation.reports.content import Figure, Section

#: At most this many sentences.
SENTENCES = 5
#: Sections on what was judged, how far raters agree, and how simulators compare; every summary uses them.
FIRST, LAST = ("data", "agreement"), "calibration"
#: Sections that repeat findings in other words (agreement) or report none.
OTHERS = ("conduct", "method", "p1-table-3", "p2-table-2", "p3-table-18")


def summary_of(sections: Sequence[Section]) -> list[Section]:
    """What was judged, how far raters agree, what the study measures, and how a simulator compares; none without prose.

    The figure is the first one of a section that measures explanations, else the first of agreement; it's shown in
    its own section too.
    """
    by = {section.id: section for section in sections}
    measured = [s for s in sections if s.id not in (*FIRST, LAST, *OTHERS)]
    said = [by[name].prose[0] for name in FIRST if name in by and by[name].prose]
    closing = by[LAST].prose[:1] if LAST in by else []
    room = SENTENCES - len(said) - len(closing)
    said += [*[section.prose[0] for section in measured if section.prose][:room], *closing]
    if not said:
        return []
    blocks = _figure([*measured, *by.values()])
    return [Section(id="summary", title="Summary", prose=said, blocks=blocks)]


def _figure(sections: Sequence[Section]) -> list[Figure]:
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Figure) and block.form == "intervals":
                return [replace(block, id="summary-figure", number="")]
    return []
