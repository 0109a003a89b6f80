"""A study's judgments as codes: fetched once; those that don't count are set aside and counted by reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Count

from annotator.models import Exclusion, Item, Judgment, Rater, Study
from evaluation.core.free_memory import return_free_memory
from evaluation.core.ratings_table import sorted_together
from evaluation.models import Call, Run
from evaluation.ratings.collected_again import CollectedAgain, collected_again
from evaluation.ratings.columns import Codes, Ids, Numbering, copy_rows, narrowed
from evaluation.ratings.items import Items, items_load

SURPLUS = "came late, after the item had all its raters"
ATTENTION = "on an attention check"
GOLD = "on a gold item, whose answer is known"
REHEARSAL = "by a rehearsal rater, in a study that has people"
PEOPLE = "by a person, in a report on the rehearsal"


@dataclass(frozen=True, eq=False)
class Raters:
    """The raters with judgments that count, in the order of their names; all arrays have shape (raters,)."""

    ids: Ids
    names: tuple[str, ...]
    is_simulator: npt.NDArray[np.bool_]
    is_rehearsal: npt.NDArray[np.bool_]
    #: Raters whose judgments were imported from a file; whether they are people isn't known.
    is_imported: npt.NDArray[np.bool_]
    #: Raters who are numbers within each item, because the file named none.
    is_numbered: npt.NDArray[np.bool_]

    @property
    def simulators(self) -> frozenset[str]:
        return frozenset(name for name, yes in zip(self.names, self.is_simulator, strict=True) if yes)


@dataclass(frozen=True, eq=False)
class Judgments:
    """The judgments of a study that count.

    ``rater``, ``item`` (int32) and ``response`` (in as few bytes as possible) are codes of shape (N,), in order of item, then
    rater: numbers in ``raters``, in ``items`` and in ``responses``, the distinct responses as JSON text. ``left_out`` maps a
    reason to how many judgments were set aside for it; each is counted once, for the first reason that
    applies. ``in_play`` of shape (items,) is true for the items that count at all: no attention check, no gold
    item, not excluded. ``unparsable`` maps a simulator to its calls without a response, by kind. ``rehearsal`` says that
    no person is among the raters, only rehearsal raters. ``again`` counts what others were asked to make up for.
    """

    study: Study
    raters: Raters
    items: Items
    rater: Codes
    item: Codes
    response: Codes
    responses: tuple[str, ...]
    in_play: npt.NDArray[np.bool_]
    left_out: dict[str, int]
    unparsable: dict[str, dict[str, int]]
    rehearsal: bool
    again: CollectedAgain

    def __len__(self) -> int:
        return len(self.rater)


def judgments_load(*, study: Study, exclusions: bool = True, rehearsal: bool = False) -> Judgments:
    """Fetch a study's judgments and decide which count.

    Set aside, in this order: surplus judgments, those on attention checks and gold items, those by rehearsal
    raters where people have judged too (with ``rehearsal``: those by people), and, with ``exclusions``, what a
    researcher has excluded (a rater, an item, one judgment). Raters without any judgment left are omitted.
    """
    items = items_load(study=study)
    rows = Judgment.objects.filter(study=study).order_by()
    counted = rows.filter(standing=Judgment.Standing.COUNTED).values_list("rater_id", "item_id", "response")
    numbering = Numbering()
    fetched = copy_rows(counted, {"rater": numbering, "item": items.numbers, "response": "name"})
    ids, rater = numbering.in_order(fetched.pop("rater"))
    item, response = fetched.pop("item"), fetched.pop("response").sort_names()
    known = Rater.objects.in_bulk(ids.tolist())
    listed = [known[int(pk)] for pk in ids]

    left_out = Counter({SURPLUS: rows.filter(standing=Judgment.Standing.SURPLUS).count()})
    kept = np.ones(rater.size, dtype=bool)
    masks = [*_by_role(items, item), *_by_rehearsal(listed, rater, wanted=rehearsal)]
    if exclusions:
        masks += _by_exclusion(study, ids, rater, items, item)
    for reason, mask in masks:
        left_out[reason] += int((kept & mask).sum())
        kept &= ~mask
    code, names = response.codes, response.names
    del response, masks
    if not kept.all():
        rater, item, code = rater[kept], item[kept], code[kept]
    raters, place = _named_raters(listed, np.flatnonzero(np.bincount(rater, minlength=len(listed))))
    item, rater, code = sorted_together(item, place[rater], code)
    return_free_memory()
    return Judgments(
        study=study,
        raters=raters,
        items=items,
        rater=rater,
        item=item,
        response=narrowed(code, len(names)),
        responses=tuple(names),
        in_play=_in_play(study, items, exclusions=exclusions),
        left_out={reason: number for reason, number in left_out.items() if number},
        unparsable=_unparsable(study, raters),
        rehearsal=bool(raters.is_rehearsal.any()),
        again=collected_again(study=study, exclusions=exclusions, rehearsal=bool(raters.is_rehearsal.any())),
    )


Masks = list[tuple[str, npt.NDArray[np.bool_]]]


def _by_role(items: Items, item: Codes) -> Masks:
    reasons = {Item.Role.ATTENTION.value: ATTENTION, Item.Role.GOLD.value: GOLD}
    return [
        (reasons[role], (items.role.codes == code)[item])
        for code, role in enumerate(items.role.names)
        if role in reasons
    ]


def _in_play(study: Study, items: Items, *, exclusions: bool) -> npt.NDArray[np.bool_]:
    """Shape (items,): neither an attention check nor gold, nor excluded."""
    checks = [n for n, role in enumerate(items.role.names) if role != Item.Role.ORDINARY.value]
    found = ~np.isin(items.role.codes, checks)
    if exclusions:
        out = Exclusion.objects.filter(study=study, lifted_at__isnull=True, item__isnull=False)
        found &= ~np.isin(items.ids, list(out.values_list("item_id", flat=True)))
    return found


def _by_rehearsal(listed: list[Rater], rater: npt.NDArray[Any], *, wanted: bool) -> Masks:
    """People and rehearsal raters never count together: rehearsal raters count only on request, or if there is nobody
    else."""
    rehearsal = np.array([r.rehearsal for r in listed], dtype=bool)
    people = np.array([r.kind == Rater.Kind.HUMAN and not r.rehearsal for r in listed], dtype=bool)
    if wanted:
        return [(PEOPLE, people[rater])] if people.any() else []
    return [(REHEARSAL, rehearsal[rater])] if people.any() and rehearsal.any() else []


def _by_exclusion(
    study: Study, ids: Ids, rater: npt.NDArray[Any], items: Items, item: npt.NDArray[Any]
) -> Masks:
    """Judgments that a researcher has excluded: by rater, then by item, then single ones."""
    active = Exclusion.objects.filter(study=study, lifted_at__isnull=True).order_by("id")
    masks: dict[str, npt.NDArray[np.bool_]] = {}
    rows = active.values_list("rater_id", "item_id", "judgment__rater_id", "judgment__item_id", "reason")
    for what in ("rater", "item", "judgment"):
        for rater_id, item_id, judge, judged, reason in rows:
            if what == "rater" and rater_id is not None:
                mask = (ids == rater_id)[rater]
            elif what == "item" and item_id is not None:
                mask = (items.ids == item_id)[item]
            elif what == "judgment" and judge is not None:
                mask = (ids == judge)[rater] & (items.ids == judged)[item]
            else:
                continue
            title = f"{what} excluded: {reason}"
            masks[title] = masks[title] | mask if title in masks else mask
    return list(masks.items())


def _named_raters(listed: list[Rater], kept: npt.NDArray[Any]) -> tuple[Raters, Codes]:
    """The remaining raters, sorted by their names, which are made unique; and the new number of each old one."""
    uses = Counter(listed[n].name for n in kept)
    names = {
        int(n): listed[n].name if uses[listed[n].name] == 1 else f"{listed[n].name} ({_origin(listed[n])})"
        for n in kept
    }
    order = sorted(names, key=names.__getitem__)
    place = np.full(len(listed), -1, dtype=np.int32)
    place[order] = np.arange(len(order))
    found = [listed[n] for n in order]
    raters = Raters(
        ids=np.array([r.pk for r in found], dtype=np.int64),
        names=tuple(names[n] for n in order),
        is_simulator=np.array([r.kind == Rater.Kind.SIMULATOR for r in found], dtype=bool),
        is_rehearsal=np.array([r.rehearsal for r in found], dtype=bool),
        is_imported=np.array([r.source.startswith("import:") for r in found], dtype=bool),
        is_numbered=np.array([r.is_numbered for r in found], dtype=bool),
    )
    return raters, place


def _origin(rater: Rater) -> str:
    """The kind and source of a rater, which together with the name are unique."""
    return f"{rater.get_kind_display()}, {rater.source}"


def _unparsable(study: Study, raters: Raters) -> dict[str, dict[str, int]]:
    """Calls of the study's simulators that gave no response, by kind; simulators without any are omitted."""
    names = dict(zip(raters.ids.tolist(), raters.names, strict=True))
    failed = Call.objects.filter(
        run__study=study, run__rater__isnull=False, state__in=[Call.State.UNPARSABLE, Call.State.FAILED]
    ).exclude(run__options__has_key=Run.TRIAL)
    counts = failed.order_by().values_list("run__rater_id", "run__rater__name", "state", "error_kind")
    found: dict[str, Counter[str]] = {}
    for pk, name, state, kind, number in counts.annotate(number=Count("id")):
        what = "not parsable" if state == Call.State.UNPARSABLE else "call failed"
        title = f"{what}: {kind.replace('_', ' ')}" if kind else what
        found.setdefault(names.get(pk, name), Counter())[title] += number
    return {name: dict(sorted(kinds.items())) for name, kinds in sorted(found.items())}
