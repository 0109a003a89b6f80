"""Simulators side by side: what each run answered about each item, beside what people said; disagreements first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from annotator.core.canonical import canonical_json
from annotator.hit_types.base import JSON, HitType, answers_in_words
from annotator.models import Item
from annotator.selectors.study import known_hit_type
from evaluation.models import Call, Run
from evaluation.ratings.people import Labels, PeopleSaid, disagrees, labels_of, people_said

Words = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ComparedAnswer:
    """One run's answers about one item in words, the call with the last of them, and whether most people said something else."""

    answers: Words
    call: int
    against_people: bool


@dataclass(frozen=True)
class ComparedItem:
    """One item and sample: what people said in words, and each run's cell, None where it has no result."""

    key: str
    sample: int
    people: Words
    cells: tuple[ComparedAnswer | None, ...]
    same: bool


@dataclass(frozen=True)
class ComparedRun:
    """One run. ``agreeing`` of the ``with_people`` items that a majority of people has labelled have the people's labels."""

    run: Run
    answered: int
    with_people: int
    agreeing: int


@dataclass(frozen=True)
class SideBySide:
    """``common`` items have a result in every run, and ``agreeing`` of them the same one. ``rows`` are those of one page."""

    columns: tuple[ComparedRun, ...]
    common: int
    agreeing: int
    total: int
    rows: tuple[ComparedItem, ...]
    has_people: bool

    @property
    def share(self) -> float | None:
        """The share of items with the same result in every run, in [0, 1]; None if no item has one in all of them."""
        return self.agreeing / self.common if self.common else None


class Result(NamedTuple):
    """The result of all stages of a call whose last stage is done. ``item`` is 0 without one. ``labels``: what is compared."""

    item: int
    context: JSON
    parsed: JSON
    call: int
    labels: Labels


Key = tuple[str, int]


def runs_side_by_side(
    runs: Sequence[Run], *, start: int = 0, most: int = 50, only_different: bool = False
) -> SideBySide:
    """Any number of runs on the same items, in four queries and one for each run.

    Items on which the answers differ most come first: those with the smallest share of the most frequent answer, that of
    most people counted as one more. Labels are compared as metrics count them, so texts such as comments make no difference; results of steps
    over a dataset are compared whole. ``rows`` are ``most`` from ``start`` on, of all items or of those with differences.
    """
    study = next((run.study for run in runs if run.study), None)
    kind = known_hit_type(study) if study else None
    said = people_said(study=study) if study and kind else {}
    payloads = _payloads(runs) if kind else {}
    found = [_results(run, kind, payloads) for run in runs]
    keys = list(dict.fromkeys(key for results in found for key in results))
    shares = {key: _share([results.get(key) for results in found], said) for key in keys}
    common = [key for key in keys if all(key in results for results in found)]
    same = sum(len({_frozen(results[key].labels) for results in found}) == 1 for key in common)
    keys.sort(key=lambda key: (shares[key], key))
    total = sum(share < 1 for share in shares.values()) if only_different else len(keys)
    rows = tuple(
        _row(key, [results.get(key) for results in found], kind, payloads, said, same=shares[key] == 1)
        for key in keys[:total][start : start + most]
    )
    columns = tuple(_column(run, results, said) for run, results in zip(runs, found, strict=True))
    return SideBySide(columns, len(common), same, total, rows, bool(said))


def calls_against_people(run: Run) -> list[int]:
    """The primary keys of the last calls of a simulator's run whose labels aren't what most people said."""
    kind = known_hit_type(run.study) if run.study else None
    if run.study is None or kind is None:
        return []
    said = people_said(study=run.study)
    results = _results(run, kind, _payloads([run]))
    return [result.call for result in results.values() if disagrees(result.labels, said.get(result.item))]


def _payloads(runs: Sequence[Run]) -> dict[int, JSON]:
    items = Call.objects.filter(run__in=runs, item__isnull=False).order_by().values("item")
    return dict(Item.objects.filter(pk__in=items).values_list("pk", "payload"))


def _results(run: Run, kind: HitType | None, payloads: Mapping[int, JSON]) -> dict[Key, Result]:
    """(key, sample) -> the result."""
    rows = Call.objects.filter(run=run, state=Call.State.DONE, parsed__isnull=False).order_by("stage", "pk")
    values = rows.values_list("key", "sample", "item_id", "context", "parsed", "pk")
    found = {}
    for key, sample, item, context, parsed, pk in values.iterator(2000):
        response = context.get("before", {}) | parsed
        payload = payloads.get(item)
        labels = labels_of(kind, payload, response) if kind and payload is not None else None
        found[key, sample] = Result(
            item or 0,
            context,
            response,
            pk,
            {("", ""): canonical_json(response)} if labels is None else labels,
        )
    return found


def _frozen(labels: Labels) -> frozenset[tuple[tuple[str, str], str]]:
    return frozenset(labels.items())


def _share(results: Sequence[Result | None], said: Mapping[int, PeopleSaid]) -> float:
    """The share of the most frequent answer among those about one item, in (0, 1]."""
    given = [result for result in results if result is not None]
    votes = Counter(_frozen(one.labels) for one in given)
    people = next((said[one.item].majority for one in given if one.item in said), None)
    if people:
        # As far as people agreed: each answer counts as theirs unless it contradicts them.
        theirs = next((one.labels for one in given if not _contradicts(one.labels, people)), people)
        votes[_frozen(theirs)] += 1
    return votes.most_common(1)[0][1] / votes.total()


def _contradicts(labels: Labels, people: Labels) -> bool:
    return any(label != people.get(labelled, label) for labelled, label in labels.items())


def _row(
    key: Key,
    results: Sequence[Result | None],
    kind: HitType | None,
    payloads: Mapping[int, JSON],
    said: Mapping[int, PeopleSaid],
    *,
    same: bool,
) -> ComparedItem:
    item = next((result.item for result in results if result is not None), 0)
    cells = tuple(
        None
        if result is None
        else ComparedAnswer(
            _in_words(kind, result, payloads), result.call, disagrees(result.labels, said.get(result.item))
        )
        for result in results
    )
    return ComparedItem(key[0], key[1], _people_in_words(kind, said.get(item)), cells, same)


def _in_words(kind: HitType | None, result: Result, payloads: Mapping[int, JSON]) -> Words:
    if kind is None or result.item not in payloads:
        return tuple((name, _plain(value)) for name, value in result.parsed.items())
    stages = kind.stages(payloads[result.item], result.context.get("presentation"))
    return tuple(answers_in_words(stages, result.parsed))


def _people_in_words(kind: HitType | None, said: PeopleSaid | None) -> Words:
    """Each variable with its labels and how many people gave them, the most frequent first."""
    if kind is None or said is None:
        return ()
    titles = {variable.name: variable.title for variable in kind.variables}
    return tuple(
        (
            ": ".join(filter(None, (unit, titles.get(name, name)))),
            ", ".join(f"{label} ({n})" for label, n in counts.most_common()),
        )
        for (name, unit), counts in said.counts.items()
    )


def _column(run: Run, results: Mapping[Key, Result], said: Mapping[int, PeopleSaid]) -> ComparedRun:
    compared = [result for result in results.values() if result.item in said and said[result.item].majority]
    agreeing = sum(not disagrees(one.labels, said[one.item]) for one in compared)
    return ComparedRun(run, len(results), len(compared), agreeing)


def _plain(value: object) -> str:
    return (
        "\n".join(map(str, value))
        if isinstance(value, Iterable) and not isinstance(value, str | dict)
        else str(value)
    )
