"""From a study and choices to a whole report: load, compute each section, draw each figure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from annotator.models import Study
from evaluation.agreement import PerRater
from evaluation.core.free_memory import return_free_memory
from evaluation.core.version import libraries, software
from evaluation.ratings.arms import arm_ratings
from evaluation.ratings.attributes import attribute_load
from evaluation.ratings.load import StudyRatings, study_ratings
from evaluation.reports.across_studies import Across
from evaluation.reports.choices import LABEL_SETS, REFUSALS, RESTRICTIONS, TIES, Choices
from evaluation.reports.content import JSON, Document, Section
from evaluation.reports.context import Context
from evaluation.reports.estimands import items_asked
from evaluation.reports.group_columns import (
    MOST_GROUPS,
    WHOLE,
    across_by_group,
    attribute_grouped,
    contexts_by_group,
    group_alike,
    with_group_columns,
)
from evaluation.reports.merging import merged, said_once
from evaluation.reports.plan_results import plan_facts, plan_of_facts, plan_section, plans_across
from evaluation.reports.planned import Ref, marked, plan_refs
from evaluation.reports.registry import parts, parts_across
from evaluation.reports.short_names import names_note, short_names, with_short_names
from evaluation.reports.summary import summary_of
from evaluation.reports.words import listed

REHEARSAL = (
    "This is a rehearsal: the judgments counted here are synthetic answers of rehearsal raters. They say nothing about "
    "people."
)
NOT_REHEARSED = "No rehearsal rater has judged an item of this study, so there is nothing to count."
ONLY_SIMULATORS = (
    "Only simulators have judged this study ({names}). Every figure is about their labels; nothing here says anything about "
    "people."
)
LIVE = "The study is still running. Judgments made after this report are not in it."


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
    plan: JSON | None = None,
) -> Computed:
    """Compute a report. The same judgments, choices and software give the same report, digit by digit. ``progress`` is
    called with a description of each step; without ``figures``, none are drawn. ``plan`` is what an earlier report said about the
    study's sealed plan, for a release's tables, which have none. Raises ``ValueError`` if the
    choices do not fit the study (a rule that names a rater who has not judged) or a stored response cannot be read.
    """
    content, inputs_hash = _content(study, choices, progress, plan)
    return_free_memory()
    return Computed(content, inputs_hash, figures_draw(content, progress) if figures else {})


def _content(
    study: Study, choices: Choices, progress: Callable[[str], None], plan: JSON | None
) -> tuple[JSON, str]:
    """The report as JSON, and its inputs' hash. The ratings are gone from memory when the figures are drawn."""
    context = context_of(study, choices, progress)
    data, sections = context.data, list(_cut_sections(context).values())
    inputs_hash = inputs_hash_of(context.all_data, choices)
    plan = plan or plan_facts(context)
    if plan is not None:
        sections = [plan_section(context, plan, sections), *sections]
    document = Document(
        title=f"Report on {study.title}",
        sections=sections,
        facts=_facts(study, data, choices, inputs_hash),
        warnings=_warnings(study, data, choices),
        choices=choices.to_json(),
    )
    refs = plan_refs(context, plan_of_facts(plan)) if plan else ()
    return _finished(document, choices, [data], plan, refs), inputs_hash


def compute_across(
    *,
    studies: Sequence[Study],
    choices: Choices,
    progress: Callable[[str], None] = lambda text: None,
    figures: bool = True,
    plan: JSON | None = None,
) -> Computed:
    """Compute a report across studies: the joined sections of each study, and sections that need several. With one
    study, it is that study's report. The same judgments, choices and software give the same report, whatever the order
    of the studies. If one of them has a sealed plan, every value is exploratory: plans are about single studies. Raises ``ValueError`` as
    ``compute`` does, naming the study.
    """
    if len(studies) == 1:
        return compute(study=studies[0], choices=choices, progress=progress, figures=figures, plan=plan)
    plan = plan or plans_across(studies)
    content, inputs_hash = _content_across(
        sorted(studies, key=lambda study: study.pk), choices, progress, plan
    )
    return_free_memory()
    return Computed(content, inputs_hash, figures_draw(content, progress) if figures else {})


def _content_across(
    studies: Sequence[Study], choices: Choices, progress: Callable[[str], None], plan: JSON | None
) -> tuple[JSON, str]:
    """The report across studies as JSON, and its inputs' hash."""
    contexts = []
    for number, study in enumerate(studies, start=1):
        where = f"study {number} of {len(studies)}"
        with _naming(study):
            told: Callable[[str], None] = lambda text, where=where: progress(f"{text}, {where}")  # type: ignore[misc]  # noqa: E731
            contexts.append(context_of(study, choices, told))
    if choices.by and all(len(ctx.data.judgments) for ctx in contexts):
        group_alike(contexts)
    built = {}
    for ctx in contexts:
        with _naming(ctx.study):
            built[ctx.study.pk] = _cut_sections(ctx)
    titles = _distinct_titles(studies)
    joint = _cut_joint_sections(Across(contexts, choices), progress)
    ordered = [(part.order, joint[part.name]) for part in parts_across() if part.name in joint]
    replaced = {part.replaces for part in parts_across() if part.name in joint}
    for part in parts():
        found = [(titles[s.pk], built[s.pk][part.name]) for s in studies if part.name in built[s.pk]]
        if found and part.name not in replaced:
            ordered.append((part.order, merged(found)))
    sections = [section for _, section in sorted(ordered, key=lambda pair: pair[0])]
    data = [ctx.data for ctx in contexts]
    inputs_hash = inputs_hash_of([c.all_data for c in contexts], choices)
    said = [(titles[c.study.pk], text) for c in contexts for text in _warnings(c.study, c.data, choices)]
    document = Document(
        title=f"Report across {len(studies)} studies",
        sections=sections,
        facts=[
            *(("Study", f"{study.title} ({study.slug})") for study in studies),
            *_common_facts(data, choices, inputs_hash),
        ],
        warnings=said_once(said, len(contexts)),
        choices=choices.to_json(),
    )
    return _finished(document, choices, data, plan), inputs_hash


@contextmanager
def _naming(study: Study) -> Iterator[None]:
    """Errors about one of several studies name it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{study.slug}: {error}") from error


def _cut_joint_sections(across: Across, progress: Callable[[str], None]) -> dict[str, Section]:
    """The sections that need several studies, with columns for each group if the report is grouped by an attribute."""
    whole = _joint_sections(across, progress)
    if not across.choices.by or not whole or not all(len(ctx.data.judgments) for ctx in across.contexts):
        return whole
    if len(attribute_grouped(across.contexts[0]).names) > MOST_GROUPS:
        return whole
    by_group = [(name, _joint_sections(part, progress)) for name, part in across_by_group(across)]
    return with_group_columns(whole, by_group, by=across.choices.by)


def _joint_sections(across: Across, progress: Callable[[str], None]) -> dict[str, Section]:
    """The sections that need several studies, by name."""
    found = {}
    for part in parts_across():
        progress(part.title)
        for ctx in across.contexts:
            ctx.deviations.clear()
        section = part.build(across)
        if section is not None:
            found[part.name] = with_deviations(section, across.contexts)
    return found


def _finished(
    document: Document,
    choices: Choices,
    data: Sequence[StudyRatings],
    plan: JSON | None,
    planned: Sequence[Ref] = (),
) -> JSON:
    """The document as JSON: first the summary, last how it was computed; simulators have short names. With a sealed plan, its values are
    marked."""
    names = short_names(name for one in data for name in one.judgments.raters.simulators)
    judged = any(len(one.judgments) for one in data)
    sections = [*(summary_of(document.sections) if judged else ()), *document.sections]
    whole = replace(document, sections=sections).to_json()
    content = with_short_names(marked(whole, planned) if plan else whole, names)
    method = replace(_method(choices), notes=names_note(names))
    content = {**content, "sections": [*content["sections"], method.to_json()]}
    return {**content, "plan": plan} if plan else content


def _distinct_titles(studies: Sequence[Study]) -> dict[int, str]:
    """Each study's title, with its slug if two studies have the same title."""
    uses = Counter(study.title for study in studies)
    return {s.pk: f"{s.title} ({s.slug})" if uses[s.title] > 1 else s.title for s in studies}


def context_of(
    study: Study, choices: Choices, progress: Callable[[str], None] = lambda text: None
) -> Context:
    """The ratings of a study for a report with these choices; raises ``ValueError`` as ``compute`` does."""
    progress("Reading the judgments")
    data = study_ratings(
        study=study,
        exclusions=choices.exclusions,
        rehearsal=choices.count == "rehearsal",
        only=choices.only,
    )
    if choices.rule == PerRater.name and data.judgments.raters.is_numbered.any():
        raise ValueError(
            "the imported file names no raters, so no labels are known to be one rater's: choose another rule than per_rater"
        )
    arms = arm_ratings(data)
    if arms is not None and "simulatability" in data.hit_type.measures:
        data = arms.explained()
    return Context(study=study, choices=choices, data=data, progress=progress, arms=arms)


def _cut_sections(context: Context) -> dict[str, Section]:
    """The sections, with columns for each group if the report is grouped by an attribute."""
    whole = _sections(context)
    if not context.choices.by or not len(context.data.judgments):
        return whole
    if len(attribute_grouped(context).names) > MOST_GROUPS:
        return whole
    by_group = [(name, _sections(ctx, skip=WHOLE)) for name, ctx in contexts_by_group(context)]
    return with_group_columns(whole, by_group, by=context.choices.by)


def _sections(context: Context, *, skip: Collection[str] = ()) -> dict[str, Section]:
    """The sections that a study's task type has, by name."""
    serving = [part for part in parts() if part.serves(context.hit_type) and part.name not in skip]
    sections: dict[str, Section] = {}
    for number, part in enumerate(serving, start=1):
        context.progress(f"{part.title} ({number} of {len(serving)})")
        context.deviations.clear()
        found = part.build(context)
        if found is not None:
            sections[part.name] = with_deviations(found, [context])
        return_free_memory()
    return sections


def with_deviations(section: Section, contexts: Sequence[Context]) -> Section:
    """The section, with its deviations from the choices among its notes."""
    said = sorted(set().union(*(ctx.deviations for ctx in contexts)))
    return replace(section, notes=[*section.notes, *said]) if said else section


def inputs_hash_of(data: StudyRatings | Sequence[StudyRatings], choices: Choices) -> str:
    """SHA-256 of all inputs: ratings, names, attributes and choices."""
    every = [data] if isinstance(data, StudyRatings) else data
    found = [one.digest for one in every]
    digests: Any = found[0] if isinstance(data, StudyRatings) else found
    if choices.by:
        digests = [digests, [_groups_digest(one, choices.by) for one in every]]
    if choices.items == "these":
        digests = [digests, [items_asked(one.judgments.study) for one in every]]
    whole = json.dumps([digests, choices.hashed()], sort_keys=True, ensure_ascii=False)
    return sha256(whole.encode()).hexdigest()


def _groups_digest(data: StudyRatings, name: str) -> str:
    """SHA-256 of the groups that a report is cut by."""
    found = attribute_load(data.judgments, name)
    names = data.judgments.items.key.values("") if found.of == "items" else data.judgments.raters.names
    pairs = sorted(zip(map(str, names), found.codes.tolist(), strict=True))
    return sha256(json.dumps([found.names, pairs], ensure_ascii=False).encode()).hexdigest()


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
        *([("Only", choices.only)] if choices.only else []),
        ("Exclusions", "left out" if choices.exclusions else "counted"),
        ("Inputs", inputs_hash),
        ("Software", software()),
    ]


def _counted(data: Sequence[StudyRatings]) -> str:
    """A phrase that says whose judgments the report counts."""
    raters = [one.judgments.raters for one in data]
    human = [~rater.is_simulator & ~rater.is_rehearsal for rater in raters]
    found = ["people"] if any(mask.any() for mask in human) else []
    found += ["rehearsal raters"] if any(rater.is_rehearsal.any() for rater in raters) else []
    found += ["simulators"] if any(rater.is_simulator.any() for rater in raters) else []
    return listed(found) or "nobody yet"


def _warnings(study: Study, data: StudyRatings, choices: Choices) -> list[str]:
    found = [REHEARSAL] if data.judgments.rehearsal else []
    if choices.count == "rehearsal" and not found:
        found = [NOT_REHEARSED]
    raters = data.judgments.raters
    if raters.is_simulator.size and raters.is_simulator.all():
        found.append(ONLY_SIMULATORS.format(names=listed(sorted(raters.simulators))))
    return [*found, LIVE] if study.state in (Study.State.LIVE, Study.State.PAUSED) else found


def _method(choices: Choices) -> Section:
    """Sentences on the choices and on how intervals are computed."""
    if choices.replicates:
        how = (
            f"Intervals are 95 % t intervals with the standard error of {choices.replicates:,} bootstrap replicates that draw "
            f"whole instances, not single judgments, with seed {choices.seed}: the same draws throughout, so that a figure has "
            "the same interval in every table. They are made on a scale on which the statistic has no bounds, so that none "
            "leaves its range. Averages of κ have bias-corrected jackknife intervals, prediction-powered estimates those of a "
            "sandwich variance. Each value names its method and how many instances were drawn from. Each table and figure says "
            f"what its intervals are about. {_about(choices)}"
        )
    else:
        how = "No intervals were requested, so none are shown."
    return Section(
        id="method",
        title="How this was computed",
        prose=[
            f"How several raters’ labels are combined: {_lower(choices.rule_title)}. Agreement is reported on "
            f"{_lower(LABEL_SETS[choices.labels])}. Systems are compared on {_lower(RESTRICTIONS[choices.restriction])}. {_precision(choices)}{how}",
            "A value that is not defined is shown as such, with the reason; it is never shown as 0 or 1. "
            f"Computed with {software()}, {libraries()}.",
        ],
    )


def _about(choices: Choices) -> str:
    """Sentences on the items and raters that intervals are about."""
    said = (
        "Agreement is generalised to raters like these; all other intervals are for these raters. "
        if choices.raters == "like"
        else "Raters are taken as fixed: the intervals are for these raters. "
    )
    if choices.items == "these":
        return f"{said}Prediction-powered intervals are for these items, the others for items like these."
    return f"{said}Items are taken as drawn from many like them."


def _precision(choices: Choices) -> str:
    """A sentence on how precision treats follow-ups without an answer or a label, if that differs from the papers."""
    said = ""
    if choices.refusals != "wrong":
        said += f"Follow-ups that the system refused are {_lower(REFUSALS[choices.refusals])} of precision. "
    if choices.ties != "left_out":
        said += f"Units on which raters tie are {_lower(TIES[choices.ties])}. "
    return said


def _lower(title: str) -> str:
    """A title inside a sentence; names such as MACE stay unchanged."""
    return title if title[:2].isupper() or title.startswith("Dawid") else title[:1].lower() + title[1:]


def figures_draw(
    content: Mapping[str, Any], progress: Callable[[str], None] = lambda text: None
) -> dict[str, tuple[str, bytes]]:
    """The figures of a report: name -> media type and bytes."""
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
