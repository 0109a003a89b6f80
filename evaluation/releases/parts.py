"""What only some releases have. A release without a part is as it was before this version could make it, so that an older
version still reads it and this one still reads what an older version made."""

from __future__ import annotations

from enum import IntFlag

#: The format of a release without any part.
FORMAT = 4


class ReleasePart(IntFlag):
    """The parts of a release; its format is ``FORMAT`` plus their sum."""

    PLAN = 1
    """The files of a sealed plan."""
    TYPES = 2
    """The files of HIT types of workspaces, and which study uses which."""
    QUESTIONNAIRES = 4
    """The table of answers to questionnaires."""
    ADJUDICATED = 8
    """The columns of ``ratings.csv`` with what adjudicators decided."""


#: A release without any part.
NO_PART = ReleasePart(0)
FORMATS = range(FORMAT, FORMAT + 2 ** len(ReleasePart))


def parts_of(format: object) -> ReleasePart:
    """The parts of a release of a format; none for a format that this version doesn't know.

    >>> parts_of(4), parts_of(7), parts_of("7"), parts_of(99)
    (<ReleasePart: 0>, <ReleasePart.PLAN|TYPES: 3>, <ReleasePart: 0>, <ReleasePart: 0>)
    """
    if isinstance(format, bool) or not isinstance(format, int) or format not in FORMATS:
        return NO_PART
    return ReleasePart(format - FORMAT)
