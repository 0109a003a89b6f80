"""The attributes of the people in a release, before they are coarsened; and whether those of a release are as its manifest says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db.models import QuerySet

from annotator.core.words import listed, plural
from annotator.models import Judgment, Participation, QuestionnaireAnswer, Rater, Study
from evaluation.core.filter_text import RATER, parse_filter
from evaluation.releases.small_cells import Coarsened, Coarsening, Values, rare, timing
from evaluation.reports.choices import Choices

_CHUNK = 2_000


class Uncomputable(ValueError):
    """The report can't be computed once attributes are coarsened; the text says which one and what to do."""


def rater_values(
    people: QuerySet[Rater], studies: Iterable[int], attributes: Collection[str]
) -> dict[int, dict[str, tuple[str, ...]]]:
    """Rater -> attribute -> values, of these people in these studies. Blank values are none; a rater without values isn't listed."""
    found: dict[int, dict[str, set[str]]] = {}

    def add(pk: int, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if name in attributes and value not in (None, ""):
                found.setdefault(pk, {}).setdefault(name, set()).add(str(value))

    for pk, values in people.exclude(attributes={}).values_list("pk", "attributes"):
        add(pk, values)
    joined = Participation.objects.filter(study__in=list(studies), rater__in=people)
    for pk, values in joined.exclude(join_parameters={}).values_list("rater_id", "join_parameters"):
        add(pk, values)
    answered = QuestionnaireAnswer.objects.filter(participation__in=joined).exclude(attributes={})
    for pk, values in answered.values_list("participation__rater_id", "attributes"):
        add(pk, values)
    return {pk: {name: tuple(sorted(held)) for name, held in values.items()} for pk, values in found.items()}


def people_of(raters: Collection[int]) -> QuerySet[Rater]:
    """Those of some raters who are people: no simulators, and nobody of a rehearsal."""
    return Rater.objects.filter(pk__in=raters, kind=Rater.Kind.HUMAN, rehearsal=False)


def timings_changed(studies: Iterable[int], coarsening: Coarsening) -> tuple[int, int]:
    """How many judgments have a time, and of how many it is another one in the release."""
    timed = Judgment.objects.filter(study__in=list(studies), seconds__isnull=False)
    if coarsening.timings == "exact":
        return timed.count(), 0
    seconds = timed.order_by().values_list("seconds", flat=True).iterator(chunk_size=_CHUNK)
    total = changed = 0
    for one in seconds:
        total += 1
        changed += timing(one, coarsening.timings) != one
    return total, changed


def attributes_needed(choices: Choices) -> frozenset[str]:
    """The raters' attributes by which a report is grouped or filtered: without them it can't be computed."""
    used = {choices.by, *parse_filter(choices.only)} if choices.only else {choices.by}
    return frozenset(name.removeprefix(RATER) for name in used if name.startswith(RATER))


def report_check(choices: Choices, before: Values, found: Coarsened) -> None:
    """Raises ``Uncomputable`` if a report is grouped by an attribute of which nothing is left, or its filter would choose other raters."""
    after = found.after(before)
    by = choices.by.removeprefix(RATER) if choices.by.startswith(RATER) else ""
    if by and any(by in one for one in before.values()) and not any(by in one for one in after.values()):
        raise Uncomputable(
            f"The report is grouped by the raters' {by}, and no value of it would be left in the release. "
            "Choose a smaller group, or release a report that isn't grouped by it."
        )
    for name, wanted in parse_filter(choices.only).items() if choices.only else ():
        if not name.startswith(RATER):
            continue
        key = name.removeprefix(RATER)
        changed = sum(
            any(one in wanted for one in held.get(key, ()))
            != any(one in wanted for one in after[rater].get(key, ()))
            for rater, held in before.items()
        )
        if changed:
            raise Uncomputable(
                f"The report only counts raters by their {key}, and {plural(changed, 'rater')} would have another {key} in the "
                "release, so nobody could compute it. Choose a smaller group, or release a report without this filter."
            )


def coarsening_problems(
    studies: Iterable[Study], coarsening: Coarsening, numbers: Mapping[str, Any]
) -> list[str]:
    """What in the rows of a release (``scratch``) isn't as its manifest says: rare combinations of attributes, other times, other
    numbers of values. ``numbers`` are those of the manifest, by attribute."""
    pks = [study.pk for study in studies]
    people = Rater.objects.filter(kind=Rater.Kind.HUMAN, rehearsal=False)
    values = rater_values(people, pks, numbers.keys())
    problems = []
    few = set() if coarsening.off else rare(values, coarsening.smallest_group)
    if few:
        problems.append(
            f"{plural(len(few), 'rater has', 'raters have')} a combination of attributes that fewer than {coarsening.smallest_group} "
            "raters share, which the manifest rules out"
        )
    strange = [
        f"{name} ({after} instead of {said['after']})"
        for name, said in numbers.items()
        if (after := len({one for held in values.values() for one in held.get(name, ())})) != said["after"]
    ]
    if strange:
        problems.append(f"other numbers of values than the manifest says: {listed(strange)}")
    _, changed = timings_changed(pks, coarsening)
    if changed:
        problems.append(
            f"{plural(changed, 'judgment has', 'judgments have')} a more exact time than the manifest says"
        )
    return problems
