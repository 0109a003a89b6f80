"""What researchers say about a release, and what was found when it was built."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.releases.reproduction import Reproduction
from evaluation.releases.small_cells import AttributeCost

#: An attribute value shared by fewer raters than this could identify one of them.
FEW = 5


@dataclass(frozen=True)
class About:
    """What the researchers say about a release, for its data card."""

    title: str = ""
    description: str = ""
    licence: str = ""
    citation: str = ""
    #: Each as ``creators_read`` reads it.
    creators: tuple[str, ...] = ()
    #: ISO date of the release.
    date: str = ""
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Built:
    """What was put into the archive.

    ``rows`` by table; ``removed`` is what was taken out of texts, by kind; ``alone`` is the number of raters who share their
    released attributes with fewer than ``FEW`` raters in all; ``comparison`` is with the report that was released.
    ``attributes`` is what coarsening did to each released attribute, ``times`` how many judgments have a less exact time.
    ``texts`` are the free texts that need a decision, (place, text) -> how often; ``undecided`` is how many have none.
    """

    rows: dict[str, int]
    removed: dict[str, int]
    alone: int
    comparison: Reproduction
    texts: dict[tuple[str, str], int]
    undecided: int
    attributes: tuple[AttributeCost, ...] = ()
    times: int = 0
