"""Simulators that were split by what their server returned: count them as one again, or separate them again.

A judgment's response never changes. Its rater does, and the rater that it had is kept with it, so merging can be undone.
"""

from __future__ import annotations

from collections import Counter

from django.db import transaction
from django.db.models import Count, QuerySet

from annotator.core.errors import Conflict
from annotator.models import AuditAction, Judgment, Rater, Study
from annotator.services.audit import audit_write
from evaluation.models import Run
from evaluation.simulators.identity import RETURNED, SOURCE, siblings

#: The signal of a merged judgment: the primary key of the rater that it had before.
BEFORE = "rater_before_merge"


def split_count(*, run: Run) -> int:
    """How many other simulators have judgments of the study because the server of the run's simulator returned something else."""
    if run.study is None or run.rater is None:
        return 0
    others = [pk for pk in siblings(run.rater) if pk != run.rater.pk]
    return Judgment.objects.filter(study=run.study, rater__in=others).values("rater").distinct().count()


def merged_count(*, run: Run) -> int:
    """How many judgments of the run's simulator were another's before they were merged."""
    if run.study is None or run.rater is None:
        return 0
    return _merged(run.study, run.rater).count()


def simulators_merge(*, run: Run) -> int:
    """Count the judgments that the run's simulator and its versions made in the study as those of one simulator.

    Returns how many judgments that changes. Raises ``Conflict`` if there are none, if a run of the simulator is under way, or
    if two of them judged the same item.
    """
    with transaction.atomic():
        study, rater = _locked(run)
        others = [pk for pk in siblings(rater) if pk != rater.pk]
        rows = Judgment.objects.select_for_update().filter(study=study, rater__in=others)
        found = list(rows.select_related("rater"))
        if not found:
            raise Conflict("This simulator wasn't split: all its judgments in the study are its own.")
        items = Judgment.objects.filter(study=study, rater__in=[rater.pk, *others]).values("item")
        twice = items.annotate(n=Count("id")).filter(n__gt=1).count()
        if twice:
            raise Conflict(
                f"Nothing was merged: several of these simulators judged the same item ({twice} items)."
            )
        counts = Counter(one.rater.name for one in found)
        for one in found:
            one.signals = one.signals | {BEFORE: one.rater_id}
            one.rater = rater
        Judgment.objects.bulk_update(found, ["rater", "signals"], batch_size=1000)
        audit_write(
            action=AuditAction.SIMULATORS_MERGED,
            study=study,
            target=rater.name,
            before=_short(counts),
            after={"judgments": len(found)},
        )
    return len(found)


def simulators_separate(*, run: Run) -> int:
    """Undo ``simulators_merge``: each judgment is that of the simulator that made it. Returns how many judgments that changes.

    Raises ``Conflict`` if none was merged, or if a run of the simulator is under way.
    """
    with transaction.atomic():
        study, rater = _locked(run)
        found = list(_merged(study, rater).select_for_update())
        if not found:
            raise Conflict("No judgments of this simulator were merged.")
        names = dict(
            Rater.objects.filter(pk__in={one.signals[BEFORE] for one in found}).values_list("pk", "name")
        )
        counts = Counter(names[one.signals[BEFORE]] for one in found)
        for one in found:
            one.rater_id = one.signals[BEFORE]
            one.signals = {name: value for name, value in one.signals.items() if name != BEFORE}
        Judgment.objects.bulk_update(found, ["rater", "signals"], batch_size=1000)
        audit_write(
            action=AuditAction.SIMULATORS_SEPARATED,
            study=study,
            target=rater.name,
            before={"judgments": len(found)},
            after=_short(counts),
        )
    return len(found)


def _merged(study: Study, rater: Rater) -> QuerySet[Judgment]:
    return Judgment.objects.filter(study=study, rater=rater, signals__has_key=BEFORE)


def _locked(run: Run) -> tuple[Study, Rater]:
    """The study and the simulator of a run, which a worker that applies results waits for."""
    if run.study is None or run.rater is None:
        raise Conflict("Only a simulator's run on a study has judgments that can be merged.")
    rater = Rater.objects.select_for_update(no_key=True, of=("self",)).get(
        pk=run.rater.pk, kind=Rater.Kind.SIMULATOR, source=SOURCE
    )
    if Run.objects.filter(study=run.study, rater=rater, state__in=Run.LIVE).exists():
        raise Conflict("A run of this simulator is under way. Wait until it has ended, or pause it.")
    return run.study, rater


def _short(counts: Counter[str]) -> dict[str, int]:
    """Judgments by what the server returned, without the part of the name that all have."""
    return {name.rpartition(RETURNED)[2]: n for name, n in sorted(counts.items())}
