"""From a study and choices to a whole report: load, compute each section, draw each figure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from annotator.models import Study
from evaluation.pipelines.ratings import StudyRatings, study_ratings
from evaluation.reports.choices import LABEL_SETS, RESTRICTIONS, Choices
from evaluation.reports.content import Document, Section
from evaluation.reports.context import Context
from evaluation.reports.registry import parts
from evaluation.version import libraries, software

REHEARSAL = (
    "These judgments were made by rehearsal raters, that is, by a program that fills a study with synthetic answers. "
    "Nothing here says anything about people."
)
LIVE = "The study is still running: judgments that come in after this report are not in it."


@dataclass(frozen=True)
class Computed:
    """A report's content as JSON, its inputs' hash, and its files: name -> (media type, bytes)."""

    content: dict[str, Any]
    inputs_hash: str
    files: dict[str, tuple[str, bytes]]


def compute(
    *,
    study: Study,
    choices: Choices,
    progress: Callable[[str], None] = lambda text: None,
    figures: bool = True,
) -> Computed:
    """Compute a report. The same judgments, choices and software give the same report, digit by digit.

    ``progress`` is told what is being done; without ``figures`` none is drawn. Raises ``ValueError`` where the choices do not fit the study (a
    rule that names a rater who is not there) or a stored response cannot be read.
    """
    progress("Reading the judgments")
    data = study_ratings(study=study, exclusions=choices.exclusions)
    context = Context(study=study, choices=choices, data=data, progress=progress)
    serving = [part for part in parts() if part.serves(study.hit_type)]
    sections: list[Section] = []
    for number, part in enumerate(serving, start=1):
        progress(f"{part.title} ({number} of {len(serving)})")
        found = part.build(context)
        if found is not None:
            sections.append(found)
    inputs_hash = inputs_hash_of(data, choices)
    content = Document(
        title=f"Report on {study.title}",
        sections=[*sections, _method(choices)],
        facts=_facts(study, data, choices, inputs_hash),
        warnings=_warnings(study, data),
        choices=choices.to_json(),
    ).to_json()
    return Computed(content, inputs_hash, _draw(content, progress) if figures else {})


def inputs_hash_of(data: StudyRatings, choices: Choices) -> str:
    """SHA-256 of everything that went in: ratings, names, attributes and choices."""
    whole = json.dumps([data.digest, choices.to_json()], sort_keys=True, ensure_ascii=False)
    return sha256(whole.encode()).hexdigest()


def _facts(study: Study, data: StudyRatings, choices: Choices, inputs_hash: str) -> list[tuple[str, str]]:
    return [
        ("Study", f"{study.title} ({study.slug})"),
        ("Task", f"{data.hit_type.title}, version {data.hit_type.version}"),
        ("Aggregation", choices.rule_title),
        ("Exclusions", "left out" if choices.exclusions else "counted"),
        ("Inputs", inputs_hash),
        ("Software", software()),
    ]


def _warnings(study: Study, data: StudyRatings) -> list[str]:
    found = [REHEARSAL] if data.judgments.rehearsal else []
    return [*found, LIVE] if study.state in (Study.State.LIVE, Study.State.PAUSED) else found


def _method(choices: Choices) -> Section:
    """What was chosen and how intervals are made, in sentences."""
    if choices.replicates:
        how = (
            f"Intervals are 95 % percentile intervals from {choices.replicates:,} bootstrap replicates in which whole "
            f"instances are drawn, not single judgments; the seed is {choices.seed}."
        )
    else:
        how = "No intervals were asked for."
    return Section(
        id="method",
        title="How this was computed",
        prose=[
            f"Labels of several raters are aggregated by: {choices.rule_title.lower()}. Agreement is headed by "
            f"{LABEL_SETS[choices.labels].lower()}; systems are compared on "
            f"{RESTRICTIONS[choices.restriction].lower()}. {how}",
            "A value that is not defined is shown as such, with the reason; it is never shown as 0 or 1. "
            f"Computed with {software()}, {libraries()}.",
        ],
    )


def _draw(content: Mapping[str, Any], progress: Callable[[str], None]) -> dict[str, tuple[str, bytes]]:
    figures = [b for section in content["sections"] for b in section["blocks"] if b["kind"] == "figure"]
    files: dict[str, tuple[str, bytes]] = {}
    if figures:
        progress("Drawing the figures")
        from evaluation.reports.plots import draw

        for figure in figures:
            picture = draw(figure)
            files[f"{figure['id']}.light.svg"] = ("image/svg+xml", picture.light.encode())
            files[f"{figure['id']}.dark.svg"] = ("image/svg+xml", picture.dark.encode())
            files[f"{figure['id']}.png"] = ("image/png", picture.png)
    return files
