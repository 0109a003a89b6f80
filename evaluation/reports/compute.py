"""From a study and choices to a whole report: load, compute each section, draw each figure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from annotator.models import Study
from evaluation.core.version import libraries, software
from evaluation.ratings.load import StudyRatings, study_ratings
from evaluation.reports.choices import LABEL_SETS, RESTRICTIONS, Choices
from evaluation.reports.content import Document, Section
from evaluation.reports.context import Context
from evaluation.reports.merging import merged, said_once
from evaluation.reports.registry import parts, parts_across
from evaluation.reports.words import listed

REHEARSAL = (
    "This is a rehearsal: the judgments counted here are synthetic answers of rehearsal raters. They say nothing about "
    "people."
)
NOT_REHEARSED = "No rehearsal rater has judged an item of this study, so there is nothing to count."
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
    context = _context(study, choices, progress)
    data, sections = context.data, list(_sections(context).values())
    inputs_hash = inputs_hash_of(data, choices)
    content = Document(
        title=f"Report on {study.title}",
        sections=[*sections, _method(choices)],
        facts=_facts(study, data, choices, inputs_hash),
        warnings=_warnings(study, data, choices),
        choices=choices.to_json(),
    ).to_json()
    return Computed(content, inputs_hash, _draw(content, progress) if figures else {})


def compute_across(
    *,
    studies: Sequence[Study],
    choices: Choices,
    progress: Callable[[str], None] = lambda text: None,
    figures: bool = True,
) -> Computed:
    """Compute a report across studies: each one's sections, joined, and those that need several.

    One study gives that study's report. The same judgments, choices and software give the same report, in
    whatever order the studies are named. Raises ``ValueError`` as ``compute`` does, naming the study.
    """
    from evaluation.reports.across_studies import Across

    if len(studies) == 1:
        return compute(study=studies[0], choices=choices, progress=progress, figures=figures)
    chosen = sorted(studies, key=lambda study: study.pk)
    contexts, built = [], {}
    for number, study in enumerate(chosen, start=1):
        where = f"study {number} of {len(chosen)}"
        try:
            ctx = _context(study, choices, lambda text, where=where: progress(f"{text}, {where}"))  # type: ignore[misc]
            contexts.append(ctx)
            built[study.pk] = _sections(ctx)
        except ValueError as error:
            raise ValueError(f"{study.slug}: {error}") from error
    titles = _told_apart(chosen)
    across = Across(contexts, choices)
    ordered: list[tuple[int, Section]] = []
    replaced: set[str] = set()
    for joint in parts_across():
        progress(joint.title)
        section = joint.build(across)
        if section is not None:
            ordered.append((joint.order, section))
            replaced.add(joint.replaces)
    for part in parts():
        found = [(titles[s.pk], built[s.pk][part.name]) for s in chosen if part.name in built[s.pk]]
        if found and part.name not in replaced:
            ordered.append((part.order, merged(found)))
    sections = [section for _, section in sorted(ordered, key=lambda pair: pair[0])]
    inputs_hash = inputs_hash_of([ctx.data for ctx in contexts], choices)
    said = [(titles[c.study.pk], text) for c in contexts for text in _warnings(c.study, c.data, choices)]
    warnings = said_once(said, len(contexts))
    content = Document(
        title=f"Report across {len(chosen)} studies",
        sections=[*sections, _method(choices)],
        facts=[
            *(("Study", f"{study.title} ({study.slug})") for study in chosen),
            *_common_facts([ctx.data for ctx in contexts], choices, inputs_hash),
        ],
        warnings=warnings,
        choices=choices.to_json(),
    ).to_json()
    return Computed(content, inputs_hash, _draw(content, progress) if figures else {})


def _told_apart(studies: Sequence[Study]) -> dict[int, str]:
    """Each study's title, with its slug where two share one."""
    uses = Counter(study.title for study in studies)
    return {s.pk: f"{s.title} ({s.slug})" if uses[s.title] > 1 else s.title for s in studies}


def _context(study: Study, choices: Choices, progress: Callable[[str], None]) -> Context:
    progress("Reading the judgments")
    data = study_ratings(study=study, exclusions=choices.exclusions, rehearsal=choices.count == "rehearsal")
    return Context(study=study, choices=choices, data=data, progress=progress)


def _sections(context: Context) -> dict[str, Section]:
    """The sections that a study's task type has, by name."""
    serving = [part for part in parts() if part.serves(context.hit_type)]
    sections: dict[str, Section] = {}
    for number, part in enumerate(serving, start=1):
        context.progress(f"{part.title} ({number} of {len(serving)})")
        found = part.build(context)
        if found is not None:
            sections[part.name] = found
    return sections


def inputs_hash_of(data: StudyRatings | Sequence[StudyRatings], choices: Choices) -> str:
    """SHA-256 of everything that went in: ratings, names, attributes and choices."""
    digests = data.digest if isinstance(data, StudyRatings) else [one.digest for one in data]
    whole = json.dumps([digests, choices.to_json()], sort_keys=True, ensure_ascii=False)
    return sha256(whole.encode()).hexdigest()


def _facts(study: Study, data: StudyRatings, choices: Choices, inputs_hash: str) -> list[tuple[str, str]]:
    return [
        ("Study", f"{study.title} ({study.slug})"),
        ("Task", f"{data.hit_type.title}, version {data.hit_type.version}"),
        *_common_facts([data], choices, inputs_hash),
    ]


def _common_facts(data: Sequence[StudyRatings], choices: Choices, inputs_hash: str) -> list[tuple[str, str]]:
    return [
        ("Counted", _counted(data)),
        ("Aggregation", choices.rule_title),
        ("Exclusions", "left out" if choices.exclusions else "counted"),
        ("Inputs", inputs_hash),
        ("Software", software()),
    ]


def _counted(data: Sequence[StudyRatings]) -> str:
    """Whose judgments stand in the report, in a few words."""
    raters = [one.judgments.raters for one in data]
    human = [~one.is_simulator & ~one.is_rehearsal for one in raters]
    found = ["people"] if any(mask.any() for mask in human) else []
    found += ["rehearsal raters"] if any(one.is_rehearsal.any() for one in raters) else []
    found += ["simulators"] if any(one.is_simulator.any() for one in raters) else []
    return listed(found) or "nobody yet"


def _warnings(study: Study, data: StudyRatings, choices: Choices) -> list[str]:
    found = [REHEARSAL] if data.judgments.rehearsal else []
    if choices.count == "rehearsal" and not found:
        found = [NOT_REHEARSED]
    return [*found, LIVE] if study.state in (Study.State.LIVE, Study.State.PAUSED) else found


def _method(choices: Choices) -> Section:
    """What was chosen and how intervals are made, in sentences."""
    if choices.replicates:
        how = (
            f"Intervals are 95 % t intervals with the standard error of {choices.replicates:,} bootstrap replicates in which "
            f"whole instances are drawn, not single judgments; the seed is {choices.seed}. They are made on a scale on which "
            "the statistic has no bounds, so that none leaves its range. Averages of κ have jackknife intervals with their "
            "bias taken off, and prediction-powered estimates those of a sandwich variance; each cell says which. Raters "
            "are taken as they are: the intervals are for these raters and other instances."
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
