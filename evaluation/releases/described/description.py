"""The facts of a release, from which all its descriptions for other tools are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from annotator.core.words import money
from annotator.hit_types.shapes import Variable
from annotator.models import Item, Judgment, Rater, Snapshot, Study
from annotator.selectors.study import study_hit_type
from evaluation.releases.creators import Creator, creators_named, creators_read
from evaluation.releases.licences import Licence, licence_read


@dataclass(frozen=True)
class StudyFacts:
    """What was asked in one study, of whom, and how much there is of it. ``versions`` are the digests of its rules and instructions."""

    slug: str
    title: str
    summary: str
    task: str
    source: str
    language: str
    redundancy: int
    pay: str
    exam: str
    consent: bool
    versions: tuple[str, ...]
    items: int
    judgments: int
    people: int
    simulators: tuple[str, ...]
    headline: str
    variables: tuple[Variable, ...]


@dataclass(frozen=True)
class Description:
    """What a release is. ``sentences`` are the report's own, about the data, the conduct and the method."""

    name: str
    title: str
    description: str
    licence: Licence
    citation: str
    creators: tuple[Creator, ...]
    date: str
    studies: tuple[StudyFacts, ...]
    rows: Mapping[str, int]
    attributes: tuple[str, ...]
    free_text: bool
    coarsened: tuple[str, ...]
    sentences: Mapping[str, tuple[str, ...]]
    software: str
    #: The columns of ``ratings.csv``, each with its description.
    columns: Mapping[str, str]

    def made_with(self, software: str) -> Self:
        """The same, with the version of the software that made the release."""
        return replace(self, software=software)

    @property
    def year(self) -> str:
        """The year in which the release was made; empty if that isn't said."""
        return self.date[:4]

    @property
    def shown_creators(self) -> Sequence[Creator]:
        """The creators, or one that stands for authors who aren't named."""
        return creators_named(self.creators)

    @property
    def abstract(self) -> str:
        """What the data are, in the authors' words or else in a sentence."""
        return self.description or " ".join(self.sentences.get("data", ())[:1]) or self.title


def describe(
    *,
    title: str,
    description: str,
    licence: str,
    citation: str,
    creators: Sequence[str],
    date: str,
    attributes: Sequence[str],
    free_text: bool,
    coarsened: Sequence[str],
    studies: Sequence[Study],
    content: Mapping[str, Any],
    rows: Mapping[str, int],
    software: str,
    columns: Mapping[str, str],
) -> Description:
    """The description of a release whose rows are in the database (``scratch``)."""
    names = "-".join(study.slug for study in studies)
    sections = {section["id"]: tuple(section["prose"]) for section in content["sections"]}
    return Description(
        name=names[:80].rstrip("-") or "release",
        title=title or "Data: " + ", ".join(study.title for study in studies),
        description=description,
        licence=licence_read(licence),
        citation=citation,
        creators=tuple(creators_read(creators)),
        date=date,
        studies=tuple(_study(study) for study in studies),
        rows=dict(rows),
        attributes=tuple(sorted(attributes)),
        free_text=free_text,
        coarsened=tuple(coarsened),
        sentences={name: sections.get(name, ()) for name in ("data", "conduct", "method")},
        software=software,
        columns=dict(columns),
    )


def _study(study: Study) -> StudyFacts:
    kind, found = study_hit_type(study), Judgment.objects.filter(study=study)
    raters = Rater.objects.filter(pk__in=found.values("rater")).order_by("name")
    simulators = raters.filter(kind=Rater.Kind.SIMULATOR).values_list("name", flat=True)
    versions = Snapshot.objects.filter(study=study).order_by("number")
    return StudyFacts(
        slug=study.slug,
        title=study.title,
        summary=study.summary,
        task=kind.title,
        source=kind.source,
        language=study.language,
        redundancy=study.redundancy,
        pay=f"{money(study.pay_per_item)} {study.currency} for an item" if study.pay_per_item else "",
        exam=f"{study.pass_mark} of {study.exam_questions} questions" if study.exam_required else "",
        consent=bool(study.consent_text),
        versions=tuple(digest[:12] for digest in versions.values_list("digest", flat=True)),
        items=Item.objects.filter(study=study).count(),
        judgments=found.count(),
        people=raters.filter(kind=Rater.Kind.HUMAN).count(),
        simulators=tuple(simulators),
        headline=kind.headline,
        variables=kind.variables,
    )
