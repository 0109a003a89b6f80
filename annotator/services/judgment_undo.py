"""Undo a submitted judgment, so that its task is open again."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext

from annotator.core.errors import Refused
from annotator.models import Assignment, Judgment, Participation, Review
from annotator.services.assignment import guest_task_give_back
from annotator.services.assignment_lock import assignment_lock


@transaction.atomic
def judgment_undo(*, user_id: int, assignment_pk: int, undone: int | None = None) -> Assignment:
    """Undo a person's last judgment within the time that the study allows; it becomes the draft of the reopened task.
    ``undone`` is the number of undos before this one: a copy of it that arrives late doesn't undo the next answer.
    Raises ``Refused`` if that time is over, it isn't their last one, it has been reviewed or excluded, or they no
    longer take part.
    """
    assignment = assignment_lock(user_id=user_id, pk=assignment_pk)
    study = assignment.participation.study
    if assignment.participation.state in (Participation.State.REMOVED, Participation.State.LEFT):
        raise Refused(
            "removed", gettext("You no longer take part in this study, so your answers stay as they are.")
        )
    # Locked, so that it can't be reviewed or excluded meanwhile.
    judgment = Judgment.objects.select_for_update().filter(assignment=assignment).first()
    if judgment is None or undone not in (None, assignment.taken_back):
        raise Refused("not_now", gettext("There is no answer to undo."))
    if (timezone.now() - judgment.created_at).total_seconds() > study.undo_seconds + 2:
        raise Refused("not_now", gettext("It is too late to undo this answer. It stays as it is."))
    if Review.objects.filter(judgment=judgment).exists() or judgment.exclusions.exists():
        raise Refused(
            "not_now", gettext("The researchers have already looked at this answer, so it stays as it is.")
        )
    last = Judgment.objects.filter(study=study, rater_id=assignment.rater_id).aggregate(last=Max("id"))[
        "last"
    ]
    if judgment.pk != last:
        raise Refused("not_now", gettext("You can only undo your last answer."))
    if assignment.sole:
        guest_task_give_back(rater_id=assignment.rater_id)
    draft = dict(judgment.response)
    for commit in assignment.commits.all():
        for name in commit.response:
            draft.pop(name, None)
    judgment.delete()
    assignment.state = Assignment.State.LEASED
    assignment.closed_at = None
    assignment.draft = draft
    assignment.draft_version += 1
    assignment.taken_back += 1
    assignment.save()
    return assignment
