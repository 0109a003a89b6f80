"""Lock a person's own assignment before it is answered, drafted or undone."""

from __future__ import annotations

from django.utils.translation import gettext

from annotator.core.errors import Refused
from annotator.core.prepared import Prepared
from annotator.models import Assignment

_LOCKED = Prepared(
    lambda pk, user_id: (
        Assignment.objects.select_for_update(of=("self", "participation"))
        .select_related("participation__study", "item", "place", "rater")
        .defer(
            *(
                f"participation__study__{text}"
                for text in ("summary", "consent_text", "instructions_text", "translations")
            )
        )
        .filter(pk=pk, rater__user_id=user_id)
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
