"""Lock tasks before they are answered, drafted, undone or taken back.

Locks are taken in one order: participation, task, place.
"""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext

from annotator.core.errors import Refused
from annotator.core.prepared import Prepared
from annotator.models import Assignment, Item, Place, Study

#: What a turn reads of its study: its more than 50 columns would take longer to read than everything else. Any other column is
#: loaded when it is first used.
_OF_STUDY = frozenset(
    [
        "id",
        "workspace_id",
        "slug",
        "title",
        "hit_type",
        "declaration_id",
        "variant",
        "confidence",
        "state",
        "language",
        "redundancy",
        "seed",
        "lease_minutes",
        "extra_time",
        "unfinished_per_hour",
        "max_items_per_rater",
        "one_condition_per_instance",
        "revoked_work",
        "pay_per_item",
        "budget_cap",
        "currency",
        "undo_seconds",
        "partly_code",
        "snapshot_id",
    ]
)
_LOCKED = Prepared(
    lambda pk, user_id: (
        Assignment.objects.select_for_update(of=("participation", "self"))
        .select_related("participation__study", "item", "place", "rater")
        .defer(
            *(
                f"participation__study__{column.name}"
                for column in Study._meta.concrete_fields
                if column.attname not in _OF_STUDY
            )
        )
        .filter(pk=pk, rater__user_id=user_id)
        .exclude(state=Assignment.State.BARRED)
    ),
    -1,
    -2,
)


def tasks_and_places_lock(item: Item) -> tuple[list[int], list[int]]:
    """Lock an item's open tasks and then its places, inside a transaction; returns both as ids. Until the transaction's end
    nobody can take, submit, skip or lose a task of the item, except submit one whose lease has ended.

    Whoever submits, skips or releases a task holds the task and asks for its place, so the tasks come first. Whoever takes a
    task holds its place already; we wait for that, and then begin again, because their task must be locked before the
    place. The caller holds no lock that one of them waits for: neither of the item, nor a ``FOR UPDATE`` of the study.
    """
    held = Assignment.State.LEASED
    while True:
        savepoint = transaction.savepoint()
        tasks = Assignment.objects.select_for_update().filter(item=item, state=held).order_by("pk")
        leased = list(tasks.values_list("pk", flat=True))
        rows = Place.objects.select_for_update().filter(item=item).order_by("pk")
        places = list(rows.values_list("pk", flat=True))
        if not Assignment.objects.filter(item=item, state=held).exclude(pk__in=leased).exists():
            transaction.savepoint_commit(savepoint)
            return leased, places
        transaction.savepoint_rollback(savepoint)  # which also releases the locks


def assignment_lock(*, user_id: int, pk: int) -> Assignment:
    """A person's own assignment, locked after their participation, as everywhere. Raises ``Refused`` (not_found) for anyone
    else's."""
    assignment = _LOCKED.first(pk, user_id)
    if assignment is None:
        raise Refused("not_found", gettext("This task doesn't exist, or it isn't yours."))
    return assignment
