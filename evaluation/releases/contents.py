"""The files of a release that are made from its data. ``build`` writes them, ``reproduce`` makes them again and compares."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annotator.models import Study
from evaluation.core.version import libraries, software
from evaluation.releases.about import About
from evaluation.releases.card import CardFacts, card
from evaluation.releases.coarsening_words import (
    Numbers,
    coarsening_json,
    privacy_sentences,
    report_warnings,
)
from evaluation.releases.described.description import Description, describe
from evaluation.releases.parts import NO_PART, ReleasePart
from evaluation.releases.ratings_file import columns_of, ratings_csv
from evaluation.releases.small_cells import Coarsening
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across, figures_draw
from evaluation.reports.exports import export

#: Libraries that draw the figures of ``report.html``.
_DRAWING = ("altair", "vl-convert-python")


@dataclass(frozen=True)
class Stated:
    """What a release says that can't be computed from its data: the authors' texts, what screening removed, and how attributes (with
    ``numbers``) and times were coarsened; None in archives that are older than that. ``parts`` are those that the release has."""

    about: About
    removed: Mapping[str, int]
    attributes: Sequence[str]
    free_text: bool = False
    coarsening: Coarsening | None = None
    numbers: Numbers = field(default_factory=dict)
    parts: ReleasePart = NO_PART

    @property
    def coarsened(self) -> list[str]:
        """What was done to attributes and times, in sentences."""
        return [] if self.coarsening is None else privacy_sentences(self.coarsening, self.numbers)


@dataclass(frozen=True)
class Made:
    """What is made from the data of a release. ``ratings`` is the path of the table; ``described`` is what its descriptions are made of."""

    content: dict[str, Any]
    inputs_hash: str
    card: str
    page: str
    ratings: Path
    described: Description


def made_with() -> dict[str, str]:
    """The versions of everything that can change a file of a release."""
    drawing = ", ".join(f"{name} {version(name)}" for name in _DRAWING)
    return {"software": software(), "libraries": f"{libraries()}, {drawing}"}


def contents_make(
    studies: Sequence[Study],
    *,
    choices: Choices,
    stated: Stated,
    rows: Callable[[], Mapping[str, int]],
    folder: Path,
    shown: Callable[[dict[str, Any]], dict[str, Any]] = lambda content: content,
    plan: dict[str, Any] | None = None,
) -> Made:
    """Make the files from the rows of ``scratch``. ``shown`` gives the content of which page and data card are made: the released
    one where a release is checked, so that a late digit doesn't change them. ``plan`` is what the report says about a sealed plan."""
    computed = compute_across(studies=studies, choices=choices, figures=False, plan=plan)
    ratings = folder / "ratings.csv"
    with ratings.open("wb") as out:
        out.writelines(ratings_csv(studies, stated.parts))
    content = json.loads(report_text(without_links(computed.content)))
    if stated.coarsening is not None:
        content["warnings"] += report_warnings(stated.coarsening, stated.numbers, choices)
    told = shown(content)
    about, numbers = stated.about, rows()
    facts = CardFacts(
        about=about,
        content=told,
        rows=numbers,
        removed=stated.removed,
        studies=studies,
        attributes=stated.attributes,
        free_text=stated.free_text,
        coarsened=stated.coarsened,
        columns=columns_of(stated.parts),
    )
    page = export(told, figures_draw(told), "html")
    described = describe(
        title=about.title,
        description=about.description,
        licence=about.licence,
        citation=about.citation,
        creators=about.creators,
        date=about.date,
        attributes=stated.attributes,
        free_text=stated.free_text,
        coarsened=stated.coarsened,
        studies=studies,
        content=told,
        rows=numbers,
        software=software(),
        columns=columns_of(stated.parts),
    )
    return Made(content, computed.inputs_hash, card(facts), page, ratings, described)


def manifest_about(
    *, stated: Stated, choices: Choices, inputs_hash: str, rows: Mapping[str, int], made: Mapping[str, str]
) -> dict[str, Any]:
    """What the manifest says besides the list of files."""
    about = stated.about
    coarse = (
        {}
        if stated.coarsening is None
        else {"coarsening": coarsening_json(stated.coarsening, stated.numbers)}
    )
    return {
        "title": about.title,
        "description": about.description,
        "licence": about.licence,
        "citation": about.citation,
        "creators": list(about.creators),
        "date": about.date,
        "attributes": sorted(stated.attributes),
        "removed": dict(stated.removed),
        "free_text": stated.free_text,
        **coarse,
        **made,
        "choices": choices.to_json(),
        "inputs_hash": inputs_hash,
        "rows": dict(rows),
    }


def report_text(content: Mapping[str, Any]) -> str:
    """``report.json``."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def without_links(content: Mapping[str, Any]) -> dict[str, Any]:
    """A report's content without the database ids of items and raters, to which its pages link."""

    def block(one: Mapping[str, Any]) -> dict[str, Any]:
        if one["kind"] != "table":
            return dict(one)
        rows = [{name: value for name, value in row.items() if name not in _LINKS} for row in one["rows"]]
        return {**one, "rows": rows}

    sections = [{**section, "blocks": list(map(block, section["blocks"]))} for section in content["sections"]]
    return {**content, "sections": sections}


#: Ids of an installation's rows, with which pages link to items and raters.
_LINKS = ("item", "raters")


def pieces(path: Path) -> Iterator[bytes]:
    """A file in pieces."""
    with path.open("rb") as file:
        while piece := file.read(2**20):
            yield piece
