"""A study's items with their research material, one array per column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from django.db.models import F, FilteredRelation, Q

from annotator.models import Explanation, FollowUp, Instance, Item, Study, System
from evaluation.core.names import in_order
from evaluation.ratings.columns import Coded, Codes, Ids, Kind, copy_rows, distinct, is_all, narrowed

#: Texts of up to this many items are fetched by their keys; of more, those of all items.
_FEW = 20_000


@dataclass(frozen=True, eq=False)
class Items:
    """All items of a study in the order of their ids, every column of shape (items,).

    ``instance``, ``explanation`` and ``follow_up`` are database ids, -1 if the item has none. ``real_output`` is the
    output of the item's own system on the follow-up; ``gold`` and ``follow_up_gold`` are the correct answers to the
    instance and to the follow-up, empty or -1 if unknown. ``part`` lists the explanations of
    items that show several, as (item's number, unit suffix, explanation id, system name).
    """

    study: Study
    ids: Ids
    key: Coded
    role: Coded
    condition: Coded
    instance: Ids
    explanation: Ids
    follow_up: Ids
    system: Coded
    output: Coded
    generator: Coded
    kind: Coded
    real_output: Coded
    gold: Coded
    follow_up_gold: Coded

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: Ids) -> Codes:
        """Items' numbers (rows of this table) from their database ids; every id must be of this study."""
        most = np.iinfo(
            self.ids.dtype
        ).max  # an item that is newer than this table must not become an older one
        return np.searchsorted(self.ids, np.minimum(ids, most).astype(self.ids.dtype)).astype(np.int32)

    def keys_of(self, items: Codes) -> Sequence[str]:
        """The keys of some items, by their numbers, without a Python object for each."""
        return self.key.names if is_all(items, len(self)) else in_order(self.key.names, items)

    @cached_property
    def systems(self) -> dict[str, tuple[str, str]]:
        """Each system's model and explanation method."""
        names = set(self.system.names) | {system for _, _, _, system in self.parts}
        rows = System.objects.filter(workspace=self.study.workspace_id, name__in=names).values_list(
            "name", "model", "method"
        )
        return {name: (model, method) for name, model, method in rows}

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets that the items' instances are from."""
        found = Instance.objects.filter(items__study=self.study).order_by()
        return tuple(sorted(found.values_list("dataset__name", flat=True).distinct()))

    @cached_property
    def instance_names(self) -> Coded:
        """Each item's instance by name: its key, with its dataset if two datasets share a key."""
        rows = Instance.objects.filter(items__study=self.study).values_list("id", "key", "dataset__name")
        named = list(rows.order_by().distinct())
        uses = Counter(key for _, key, _ in named)
        names = {pk: f"{dataset}: {key}" if uses[key] > 1 else key for pk, key, dataset in named}
        return _named(self.instance, names)

    @cached_property
    def explanation_names(self) -> Coded:
        """Each item's explanation by name: its database id, which is unique."""
        return _named(self.explanation, {int(pk): str(pk) for pk in distinct(self.explanation)[0] if pk >= 0})

    @cached_property
    def parts(self) -> tuple[tuple[int, str, int, str], ...]:
        """(item's number, unit suffix, explanation id, system name) of items that show several explanations."""
        rows = Item.objects.filter(study=self.study).exclude(parts={}).order_by("id")
        found = [
            (pk, suffix, int(explanation))
            for pk, parts in rows.values_list("id", "parts").iterator(chunk_size=2_000)
            for suffix, explanation in parts.items()
        ]
        wanted = {explanation for _, _, explanation in found}
        systems = dict(Explanation.objects.filter(pk__in=wanted).values_list("pk", "system__name"))
        numbers = self.numbers(np.array([pk for pk, _, _ in found], dtype=np.int64))
        return tuple(
            (int(number), suffix, explanation, systems.get(explanation, ""))
            for number, (_, suffix, explanation) in zip(numbers, found, strict=True)
        )

    def follow_up_texts(self) -> npt.NDArray[np.object_]:
        """Shape (items,): the follow-ups' texts, empty if there is none. Not cached, since they may be long."""
        rows = FollowUp.objects.filter(items__study=self.study).order_by()
        texts = copy_rows(rows.values_list("id", "text"), {"id": "id", "text": "name"})
        return _matched(self.follow_up, texts["id"], texts["text"]).values("")

    def follow_up_texts_of(self, keys: Collection[str]) -> dict[str, str]:
        """The follow-ups' texts of some items, by the items' keys; empty if there is none."""
        if len(keys) > _FEW:
            return dict(zip(self.key.values(""), self.follow_up_texts(), strict=True))
        rows = Item.objects.filter(study=self.study, key__in=list(keys))
        return {key: text or "" for key, text in rows.values_list("key", "follow_up__text")}


def items_load(*, study: Study) -> Items:
    """Fetch a study's items and their material, in two COPY queries."""
    rows = (
        Item.objects.filter(study=study)
        .annotate(
            real=FilteredRelation(
                "follow_up__outputs",
                condition=Q(follow_up__outputs__system_id=F("explanation__system_id")),
            )
        )
        .order_by("id")
        .values_list(
            "id",
            "key",
            "role",
            "condition",
            "instance_id",
            "explanation_id",
            "follow_up_id",
            "explanation__system__name",
            "explanation__output",
            "follow_up__generator",
            "follow_up__kind",
            "real__text",
            "instance__gold_label",
            "follow_up__gold_label",
        )
    )
    kinds: Mapping[str, Kind] = {
        "ids": "id",
        "key": "text",
        "role": "name",
        "condition": "name",
        "instance": "id",
        "explanation": "id",
        "follow_up": "id",
        "system": "name",
        "output": "name",
        "generator": "name",
        "kind": "name",
        "real_output": "name",
        "gold": "name",
        "follow_up_gold": "name",
    }
    found = copy_rows(rows, kinds)
    keys = found.pop("key")
    for name in ("ids", "instance", "explanation", "follow_up"):
        found[name] = narrowed(found[name])
    return Items(study=study, key=Coded(np.arange(len(keys), dtype=np.int32), keys), **found)


def _named(ids: Ids, names: dict[int, str]) -> Coded:
    """Ids as a column of names, sorted; -1 for ids without a name."""
    known = np.array(sorted(names), dtype=ids.dtype)
    column = _matched(
        ids, known, Coded(np.arange(known.size, dtype=np.int32), tuple(names[int(i)] for i in known))
    )
    return column.sort_names()


def _matched(ids: Ids, known: Ids, names: Coded) -> Coded:
    """The name of each id in ``known``; -1 for ids that aren't there."""
    if not known.size:
        return Coded.empty(ids.size)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known, ids, sorter=order), known.size - 1)
    rows = order[place]
    return Coded(np.where(known[rows] == ids, names.codes[rows], -1).astype(np.int32), names.names)
