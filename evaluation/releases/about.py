"""What researchers say about a release, and what was found when it was built."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.releases.reproduce import Reproduction

#: Attributes that fewer raters share than this may tell who somebody is.
FEW = 5


@dataclass(frozen=True)
class About:
    """What the researchers say about a release, for its data card."""

    title: str = ""
    description: str = ""
    licence: str = ""
    citation: str = ""
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Built:
    """What was put into the archive.

    ``rows`` by table; ``removed`` is what was taken out of texts, by kind; ``alone`` is the number of raters who share their
    released attributes with fewer than ``FEW`` raters in all; ``comparison`` is with the report that was released.
    """

    rows: dict[str, int]
    removed: dict[str, int]
    alone: int
    comparison: Reproduction
