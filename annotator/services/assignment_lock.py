"""Lock a person's own assignment before it is answered, drafted or undone."""

from __future__ import annotations

from django.utils.translation import gettext

from annotator.core.errors import Refused
from annotator.core.prepared import Prepared
from annotator.models import Assignment, Study

#: What a turn reads of its study: its more than 50 columns would take longer to read than everything else. Any other column is
#: loaded when it is first used.
_OF_STUDY = frozenset(
    [
        "id",
        "workspace_id",
        "slug",
        "title",
        "hit_type",
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
        "currency",
        "undo_seconds",
        "partly_code",
        "snapshot_id",
    ]
)
_LOCKED = Prepared(
    lambda pk, user_id: (
        Assignment.objects.select_for_update(of=("self", "participation"))
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


def assignment_lock(*, user_id: int, pk: int) -> Assignment:
    """A person's own assignment, locked together with their participation. Raises ``Refused`` (not_found) for anyone
    else's."""
    assignment = _LOCKED.first(pk, user_id)
    if assignment is None:
        raise Refused("not_found", gettext("This task doesn't exist, or it isn't yours."))
    return assignment
