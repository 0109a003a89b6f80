"""From a study's judgments to ratings tables, one per variable, with what was left out and what each unit is about."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, cast

import numpy as np

from annotator.hit_types.base import HitType, Level, Variable
from annotator.hit_types.confidence import answer_variables
from annotator.models import Item, Study
from annotator.selectors.study import study_hit_type
from evaluation.agreement.value_forms import form_of
from evaluation.core.names import json_pieces
from evaluation.core.ratings_table import Ratings
from evaluation.ratings.adjudications import AdjudicatedItem, adjudications_load
from evaluation.ratings.attributes import Attribute, attribute_load, judgments_filter, judgments_part
from evaluation.ratings.columns import Coded, Codes, distinct, taken
from evaluation.ratings.items import Items
from evaluation.ratings.judgments import Judgments, judgments_load
from evaluation.ratings.mapping import Entries, map_pairs, map_responses

#: Item columns with the systems that wrote the sides a and b of a comparison.
SIDE_COLUMNS = ("system_a", "system_b")


@dataclass(frozen=True, eq=False)
class UnitColumns:
    """What each unit of a ratings table is about; every column of shape (units,).

    ``item`` is the unit's item (a number in ``Items``) and ``suffix`` distinguishes the units of one item.
    ``explanation`` and ``system`` are the unit's own if an item shows several explanations.
    """

    item: Codes
    suffix: Coded
    instance: Coded
    explanation: Coded
    system: Coded
    generator: Coded
    kind: Coded
    condition: Coded
    output: Coded
    real_output: Coded


@dataclass(frozen=True, eq=False)
class VariableRatings:
    """The ratings of one variable. ``left_out`` counts judgments by reason, ``judgments`` those that count.

    ``unanswered`` are (rater, item) codes, two arrays of one length, of judgments without an answer on the variable.
    """

    variable: Variable
    ratings: Ratings
    units: UnitColumns
    judgments: int
    left_out: dict[str, int]
    unanswered: tuple[Codes, Codes]


@dataclass(eq=False)
class StudyRatings:
    """All ratings of a study, fetched and parsed once; tables are made for each variable on demand."""

    judgments: Judgments
    hit_type: HitType
    entries: Entries
    #: Which response or (item, response) pair each judgment is, as a number in ``entries``; shape (N,).
    owner: Codes
    owners: int
    #: Correct labels of items whose labels were collected elsewhere: by item's number and response field.
    gold: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    _tables: dict[str, VariableRatings] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables with labels of the HIT type's own questions, the headline first.

        ``table`` also has ``confidence``, where it's asked, and the variables whose values are sets, rankings, passages or pairs.
        """
        labelled = [
            answer_variable
            for answer_variable in answer_variables(self.hit_type)
            if not answer_variable.structured
        ]
        return tuple(sorted(labelled, key=lambda v: v.name != self.hit_type.headline))

    def table(self, variable: str) -> VariableRatings:
        """The ratings of one variable; an unknown name is a ``KeyError``."""
        if variable not in self._tables:
            self._tables[variable] = self._cut(self.entries.numbers[variable])
        return self._tables[variable]

    def _cut(self, number: int) -> VariableRatings:
        judgments, declared = self.judgments, self.entries.variables[number]
        row, suffix, value = self.entries.rows(number, self.owner, self.owners)
        labels, places = _labels(declared, self.entries.labels[number], self._gold_labels(declared.name))
        suffixes = Coded(suffix, tuple(self.entries.suffixes)).sort_names()
        units, unit = self._units_of(taken(judgments.item, row), suffixes)
        value = places[value]
        ratings = Ratings(
            raters=judgments.raters.names,
            units=self._unit_names(units),
            labels=labels,
            rater=taken(judgments.rater, row),
            unit=unit,
            value=value,
            level=cast("Level", declared.level),
            simulators=judgments.raters.simulators,
            abstain=frozenset(declared.abstain),
            scores=declared.scores,
            clusters=self._clusters(units),
        )
        lacking = np.ones(len(judgments), dtype=bool)
        lacking[row] = False
        blank = np.flatnonzero(lacking)
        unanswered = judgments.rater[blank], judgments.item[blank]
        answered = len(judgments) - blank.size
        left_out = dict(judgments.left_out)
        if answered < len(judgments):
            left_out[f"without an answer on {declared.title.lower()}"] = len(judgments) - answered
        return VariableRatings(declared, ratings, units, answered, left_out, unanswered)

    def _units_of(self, item: Codes, suffix: Coded) -> tuple[UnitColumns, Codes]:
        """The distinct units of ratings, each an item and a suffix, and each rating's unit."""
        width = len(suffix.names)
        if width <= 1:
            items, unit = distinct(item)
            return self._units(items, Coded(np.zeros(items.size, dtype=np.int32), suffix.names)), unit
        keys, unit = distinct(item.astype(np.int64) * width + suffix.codes)
        return self._units(
            (keys // width).astype(np.int32), Coded((keys % width).astype(np.int32), suffix.names)
        ), unit

    def _gold_labels(self, variable: str) -> set[str]:
        """The correct labels of a variable; one that nobody gave is a label too."""
        return {
            label
            for fields in self.gold.values()
            for name, label in fields.items()
            if name.partition(".")[0] == variable
        }

    def _units(self, item: Codes, suffix: Coded) -> UnitColumns:
        items = self.judgments.items
        explanation, system = items.explanation_names.take(item), items.system.take(item)
        if items.parts:
            explanation, system = self._parts(item, suffix, explanation, system)
        return UnitColumns(
            item=item,
            suffix=suffix,
            instance=items.instance_names.take(item),
            explanation=explanation,
            system=system,
            generator=items.generator.take(item),
            kind=items.kind.take(item),
            condition=items.condition.take(item),
            output=items.output.take(item),
            real_output=items.real_output.take(item),
        )

    def _parts(self, item: Codes, suffix: Coded, explanation: Coded, system: Coded) -> tuple[Coded, Coded]:
        """The unit's own explanation and system, for items that show several explanations."""
        parts = {(n, s): (str(e), name) for n, s, e, name in self.judgments.items.parts}
        own = [
            parts.get((int(n), str(s)), (e, y))
            for n, s, e, y in zip(item, suffix.values(""), explanation.values(), system.values(), strict=True)
        ]
        return _coded([e for e, _ in own]), _coded([s for _, s in own])

    def _unit_names(self, units: UnitColumns) -> Sequence[str]:
        """Unique names of units: the item's key, with the suffix if the item isn't the unit."""
        keys = self.judgments.items.keys_of(units.item)
        if units.suffix.names == ("",):
            return keys
        names = [
            f"{key} · {end}" if end else key for key, end in zip(keys, units.suffix.values(""), strict=True)
        ]
        uses = Counter(names)
        if len(uses) < len(names):
            names = [f"{n} (item {i})" if uses[n] > 1 else n for n, i in zip(names, units.item, strict=True)]
        return tuple(names)

    def _clusters(self, units: UnitColumns) -> Codes:
        """Each unit's instance; an item without one is a cluster by itself."""
        codes = units.instance.codes.astype(np.int64)
        codes = np.where(codes >= 0, codes, len(units.instance.names) + units.item.astype(np.int64))
        return distinct(codes)[1]

    def of_group(self, attribute: Attribute, code: int) -> StudyRatings:
        """The ratings of one group of items, or of raters (with all simulators); nothing is read or parsed again.

        What was left out of the study is not counted again.
        """
        judgments = self.judgments
        wanted = attribute.codes == code
        if attribute.of == "raters":
            wanted = wanted | judgments.raters.is_simulator
        kept = wanted[judgments.item if attribute.of == "items" else judgments.rater]
        in_play = judgments.in_play & wanted if attribute.of == "items" else judgments.in_play
        part = judgments_part(judgments, kept, in_play, left_out={})
        return StudyRatings(part, self.hit_type, self.entries, self.owner[kept], self.owners, self.gold)

    @cached_property
    def adjudications(self) -> tuple[AdjudicatedItem, ...]:
        """What adjudicators gave to the study's items that are in play; none in a rehearsal. Loaded when first needed."""
        if self.judgments.rehearsal:
            return ()
        found = adjudications_load(self.judgments.items, self.hit_type)
        return tuple(one for one in found if self.judgments.in_play[one.item])

    def adjudicated(self, variable: str) -> dict[str, str]:
        """Names of the variable's units -> the label that two adjudicators gave, for units of the table."""
        settled = {
            (adjudication.item, suffix): label
            for adjudication in self.adjudications
            for (name, suffix), label in adjudication.settled.items()
            if name == variable
        }
        table = self.table(variable)
        ends = table.units.suffix.values("")
        keys = zip(table.units.item.tolist(), map(str, ends), strict=True)
        return {
            unit: settled[key] for unit, key in zip(table.ratings.units, keys, strict=True) if key in settled
        }

    @cached_property
    def sides(self) -> tuple[tuple[str, str], ...]:
        """Each item's systems behind the sides a and b of a comparison, from its own columns ``SIDE_COLUMNS``.

        Items that nobody judged may lack them (the names are empty then). Empty if a judged item lacks one, and for types without such a
        question."""
        return () if self.without_sides else self._named_sides

    @cached_property
    def without_sides(self) -> int:
        """How many judged items lack a system of ``sides``, if any item of the study has one; else 0."""
        used = np.unique(self.judgments.item).tolist()
        return sum(not all(self._named_sides[item]) for item in used) if self._named_sides else 0

    @cached_property
    def _named_sides(self) -> tuple[tuple[str, str], ...]:
        """Each item's own columns, empty names where it has none; empty if no item has any."""
        if not any(form_of(variable.level) == "pairwise" for variable in self.hit_type.variables):
            return ()
        sides: list[list[str]] = []
        for name in SIDE_COLUMNS:
            try:
                found = attribute_load(self.judgments, name)
            except ValueError:  # no item has the column
                sides.append([""] * len(self.judgments.items))
            else:
                sides.append([found.names[code] if code >= 0 else "" for code in found.codes.tolist()])
        pairs = tuple(zip(*sides, strict=True))
        return pairs if any(map(any, pairs)) else ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything that a report shows or is computed from: ratings, names, attributes and headings.

        It doesn't depend on the order in which Postgres returns rows, or on database ids.
        """
        found = sha256()
        judgments, items = self.judgments, self.judgments.items
        columns: list[Any] = [judgments.raters.names, judgments.raters.is_simulator]
        columns += [judgments.raters.is_rehearsal, judgments.responses, judgments.left_out]
        columns += [
            judgments.unparsable,
            judgments.rater,
            judgments.item,
            judgments.response.astype(np.int32),
        ]
        columns += [items.key, items.role, items.condition, items.instance_names, items.system]
        columns += [items.generator, items.kind, items.output, items.real_output]
        columns += [items.gold, items.follow_up_gold]
        if self.gold:
            columns.append([[number, dict(fields)] for number, fields in sorted(self.gold.items())])
        if self.sides or self.without_sides:
            columns.append(self.sides or self.without_sides)
        if self.adjudications:
            columns.append(
                [
                    [adjudication.item, [[*row[:2], sorted(row[2].items())] for row in adjudication.given]]
                    for adjudication in self.adjudications
                ]
            )
        for column in columns:
            _feed(found, column)
        _feed(found, [self.hit_type.name, self.hit_type.version])
        _feed(found, [items.study.title, items.study.slug, items.datasets, sorted(items.systems.items())])
        return found.hexdigest()


def study_ratings(
    *, study: Study, exclusions: bool = True, rehearsal: bool = False, only: str = ""
) -> StudyRatings:
    """Fetch a study's judgments and turn their responses into ratings; ``rehearsal`` uses rehearsal raters' judgments
    instead of people's.

    ``only`` is a filter such as ``kind=hard; rater:age=30`` (see ``evaluation.ratings.attributes``).

    Each distinct response is converted once, or each distinct pair of item and response if the HIT type's ratings need
    the item. Raises ``KeyError`` for an unknown HIT type, and ``ValueError`` if a stored response has a label that the
    type doesn't declare.
    """
    hit_type = study_hit_type(study)
    judgments = judgments_load(study=study, exclusions=exclusions, rehearsal=rehearsal)
    if only:
        judgments = judgments_filter(judgments, only)
    if not hit_type.ratings_need_item:
        entries = map_responses(hit_type, judgments.responses)
        owner, owners = judgments.response, len(judgments.responses)
    else:
        width = max(len(judgments.responses), 1)
        keys, numbers = distinct(judgments.item.astype(np.int64) * width + judgments.response)
        owner, owners = numbers, keys.size
        pairs = zip((keys // width).tolist(), (keys % width).tolist(), strict=True)
        entries = map_pairs(hit_type, pairs, judgments.responses, _payloads(study))
    gold = _gold(judgments.items) if hit_type.external else {}
    return StudyRatings(judgments, hit_type, entries, owner, owners, gold)


def _gold(items: Items) -> dict[int, dict[str, str]]:
    """The correct labels of items, by their numbers and response fields."""
    rows = Item.objects.filter(study=items.study, gold__isnull=False).order_by("id").values_list("pk", "gold")
    found = list(rows.iterator(chunk_size=5_000))
    numbers = items.numbers(np.array([pk for pk, _ in found], dtype=np.int64)).tolist()
    return {number: dict(gold or {}) for number, (_, gold) in zip(numbers, found, strict=True)}


def _payloads(study: Study) -> Any:
    rows = Item.objects.filter(study=study).order_by("id").values_list("payload", flat=True)
    return enumerate(rows.iterator(chunk_size=2_000))


def _labels(
    variable: Variable, found: dict[str, int], gold: Collection[str]
) -> tuple[tuple[str, ...], Codes]:
    """The label set in its declared order, or else those given and correct, sorted by name; and the position of each label
    found."""
    names = tuple(variable.labels) or tuple(sorted({*found, *gold}))
    place = {name: n for n, name in enumerate(names)}
    return names, np.array([place[label] for label in found], dtype=np.int32)


def _coded(values: list[str | None]) -> Coded:
    names = sorted({value for value in values if value is not None})
    place = {name: n for n, name in enumerate(names)}
    codes = [-1 if value is None else place[value] for value in values]
    return Coded(np.array(codes, dtype=np.int32), tuple(names))


def _feed(digest: Any, value: Any) -> None:
    """Put a value into a digest, with its shape, so that no two different tables look alike."""
    if isinstance(value, Coded):
        column = value.sort_names()
        for piece in json_pieces(column.names):
            digest.update(piece.encode())
        _feed(digest, column.codes.astype(np.int32, copy=False))
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    else:
        digest.update(json.dumps(value, sort_keys=True, ensure_ascii=False).encode())
