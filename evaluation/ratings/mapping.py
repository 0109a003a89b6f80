"""Turn responses into ratings. Each distinct response is converted once if the HIT type's ratings don't need the item."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from annotator.hit_types.base import HitType, Variable
from evaluation.ratings.columns import Codes, taken


@dataclass
class Entries:
    """Ratings in long form, one entry per rating; ``owner`` says which response (or pair) it comes from.

    Entries are sorted by owner, so that one owner's entries are a slice.
    """

    variables: tuple[Variable, ...]
    owner: array[int] = field(default_factory=lambda: array("q"))
    variable: array[int] = field(default_factory=lambda: array("q"))
    suffix: array[int] = field(default_factory=lambda: array("q"))
    value: array[int] = field(default_factory=lambda: array("q"))
    #: Unit suffixes and labels by code; labels are per variable, the declared ones first and in their order.
    suffixes: dict[str, int] = field(default_factory=dict)
    labels: list[dict[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers = {variable.name: n for n, variable in enumerate(self.variables)}
        self.labels = [{label: n for n, label in enumerate(v.labels)} for v in self.variables]

    def add(self, hit_type: HitType, owner: int, payload: dict[str, Any], response: dict[str, Any]) -> None:
        """Add the ratings of a response. Raises ``ValueError`` for a label that isn't declared."""
        for rating in hit_type.to_ratings(payload, response):
            if rating.variable not in self.numbers:
                raise ValueError(
                    f"{hit_type.name}: {rating.variable!r} is not among the variables: {', '.join(self.numbers)}"
                )
            number = self.numbers[rating.variable]
            labels = self.labels[number]
            if rating.value not in labels:
                if self.variables[number].labels:
                    raise ValueError(
                        f"{hit_type.name}: {rating.value!r} is not among the labels of {rating.variable!r}: "
                        f"{', '.join(labels)}"
                    )
                labels[rating.value] = len(labels)
            self.owner.append(owner)
            self.variable.append(number)
            self.suffix.append(self.suffixes.setdefault(rating.unit, len(self.suffixes)))
            self.value.append(labels[rating.value])

    def rows(self, number: int, owner_of_row: Codes, owners: int) -> tuple[Codes, Codes, Codes]:
        """One variable's ratings over all rows: the row, unit suffix and value of each."""
        kept = np.flatnonzero(np.frombuffer(self.variable, dtype=np.int64) == number)
        owner = np.frombuffer(self.owner, dtype=np.int64)[kept]
        suffix, value = (
            np.frombuffer(column, dtype=np.int64)[kept].astype(np.int32)
            for column in (self.suffix, self.value)
        )
        if not owner.size:
            none = np.zeros(0, dtype=np.int32)
            return none, none, none
        counts = np.bincount(owner, minlength=owners)
        if counts.max() <= 1:  # as for most types: no array of 8 bytes for each row
            row = np.flatnonzero((counts > 0)[owner_of_row]).astype(np.int32)
            entry = np.zeros(owners, dtype=np.int32)
            entry[owner] = np.arange(owner.size, dtype=np.int32)
            own = taken(owner_of_row, row)
            return row, suffix[entry][own], value[entry][own]
        first = np.concatenate(([0], np.cumsum(counts)[:-1]))
        per_row = counts[owner_of_row]
        row = np.repeat(np.arange(owner_of_row.size, dtype=np.int32), per_row)
        entries = np.arange(row.size, dtype=np.int64)
        entries += np.repeat(first[owner_of_row] - (np.cumsum(per_row) - per_row), per_row)
        return row, suffix[entries], value[entries]


def map_responses(hit_type: HitType, responses: Iterable[str]) -> Entries:
    """The ratings of each distinct response, owner = its number; for types whose ratings don't need the item.

    ``None`` is passed as the item, so that a type that reads it nevertheless fails instead of finding it empty.
    """
    entries = Entries(hit_type.variables)
    for owner, text in enumerate(responses):
        entries.add(hit_type, owner, cast(dict[str, Any], None), json.loads(text))
    return entries


def map_pairs(
    hit_type: HitType,
    pairs: Iterable[tuple[int, int]],
    responses: tuple[str, ...],
    payloads: Iterator[tuple[int, dict[str, Any]]],
) -> Entries:
    """The ratings of each distinct (item, response) pair, owner = the pair's number.

    ``pairs`` are in order of their item's number and ``payloads`` yields (item's number, payload) in the same
    order, at least for the items in ``pairs``; only one payload is in memory at a time.
    """
    entries = Entries(hit_type.variables)
    parsed: dict[int, dict[str, Any]] = {}
    item: int = -1
    payload: dict[str, Any] = {}
    for owner, (wanted, response) in enumerate(pairs):
        while item != wanted:
            item, payload = next(payloads)
        if response not in parsed:
            parsed = {} if len(parsed) > 10_000 else parsed
            parsed[response] = json.loads(responses[response])
        entries.add(hit_type, owner, payload, parsed[response])
    return entries
