"""The people and institutions who made a data set, as the authors name them: one a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Said where no author is named: formats of citations ask for at least one.
UNNAMED = "Authors not named"
MOST, LONGEST = 500, 300
_ORCID = re.compile(r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dXx])")


class CreatorInvalid(ValueError):
    """A line names nobody; the text says which line, and what was expected."""


@dataclass(frozen=True)
class Creator:
    """A person (``family`` and perhaps ``given``) or, without a comma in the line, an institution (``name``)."""

    family: str = ""
    given: str = ""
    name: str = ""
    orcid: str = ""
    affiliation: str = ""

    @property
    def full_name(self) -> str:
        """The name as it is said."""
        return self.name or f"{self.given} {self.family}".strip()

    @property
    def line(self) -> str:
        """The line that ``creators_read`` reads as this creator."""
        head = self.name or (f"{self.family}, {self.given}" if self.given else f"{self.family},")
        return "; ".join(part for part in (head, self.orcid, self.affiliation) if part)


def creators_read(lines: Iterable[str]) -> list[Creator]:
    """The creators that some lines name, each *Family name, given names; ORCID; affiliation*. Blank lines are skipped.

    ORCID and affiliation may be missing, in either order. Raises ``CreatorInvalid`` with the number of the line.

    >>> [found] = creators_read(["Doe, Jane; 0000-0002-1825-0097; University of Owls"])
    >>> found.given, found.family, found.orcid, found.affiliation
    ('Jane', 'Doe', '0000-0002-1825-0097', 'University of Owls')
    >>> creators_read(["Owl Lab"])[0].name
    'Owl Lab'
    >>> creators_read(["Doe, Jane; 0000-0002-1825-0098"])
    Traceback (most recent call last):
    ...
    evaluation.releases.creators.CreatorInvalid: line 1: 0000-0002-1825-0098 is no ORCID: its last character doesn't fit the others
    """
    found: list[Creator] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if len(found) == MOST:
            raise CreatorInvalid(f"line {number}: more than {MOST} authors")
        try:
            found.append(_creator(line))
        except ValueError as error:
            raise CreatorInvalid(f"line {number}: {error}") from None
    return found


def _creator(line: str) -> Creator:
    if len(line) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters; write one author a line")
    if not line.isprintable():
        raise ValueError("contains a control character")
    head, *rest = (part.strip() for part in line.split(";"))
    family, comma, given = (part.strip() for part in head.partition(","))
    if not family:
        raise ValueError(
            "expected a family name first, as in “Doe, Jane; 0000-0002-1825-0097; University of Owls”"
        )
    orcid = affiliation = ""
    for part in rest:
        matched = _ORCID.fullmatch(part)
        if matched and not orcid:
            orcid = _checked(matched[1].upper())
        elif part and not affiliation:
            affiliation = part
        elif part:
            raise ValueError(f"{part!r} is neither ORCID nor affiliation; write one author a line")
    who = {"family": family, "given": given} if comma else {"name": family}
    return Creator(**who, orcid=orcid, affiliation=affiliation)


def _checked(orcid: str) -> str:
    """The ORCID, if its check character is right (ISO 7064, mod 11-2)."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    rest = (12 - total % 11) % 11
    if orcid[-1] != ("X" if rest == 10 else str(rest)):
        raise ValueError(f"{orcid} is no ORCID: its last character doesn't fit the others")
    return orcid


def creators_named(creators: Sequence[Creator]) -> Sequence[Creator]:
    """The creators, or one who stands for authors that aren't named."""
    return creators or [Creator(name=UNNAMED)]
