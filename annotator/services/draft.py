"""Save the answer that a person has not submitted yet."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from annotator.core.errors import DraftConflict
from annotator.hit_types.base import JSON
from annotator.models import Assignment
from annotator.selectors.study import study_hit_type
from annotator.services.assignment_lock import assignment_lock


def draft_save(*, user_id: int, assignment_pk: int, stage: int, version: int, draft: JSON) -> int:
    """Save an unfinished answer; ``version`` is the one that it is based on. Returns the new version. A newer draft
    from another tab isn't overwritten: the ``DraftConflict`` contains it. If it has the same answers, nothing changes
    and its version is returned: a page that is left sends its draft once more, which may arrive twice.
    """
    with transaction.atomic():
        assignment = assignment_lock(user_id=user_id, pk=assignment_pk)
        if assignment.state == Assignment.State.SUBMITTED or assignment.stage != stage:
            raise DraftConflict(gettext("This step already has an answer."), closed=True)
        kind = study_hit_type(assignment.participation.study)
        fields = kind.fields_asked(assignment.item.payload, stage, assignment.presentation)
        asked = {field.name for field in fields}
        kept = {name: value for name, value in draft.items() if name in asked and _keepable(value)}
        if assignment.draft_version != version:
            if kept == assignment.draft:
                return assignment.draft_version
            raise DraftConflict(
                gettext("This task was changed in another tab."),
                version=assignment.draft_version,
                draft=assignment.draft,
            )
        assignment.draft = kept
        assignment.draft_version += 1
        assignment.save(update_fields=["draft", "draft_version"])
        return assignment.draft_version


def _keepable(value: Any) -> bool:
    """Whether a value is short enough for a draft and is text that the database can hold."""
    texts = value if isinstance(value, list) else [value]
    return len(texts) <= 100 and all(
        isinstance(text, str) and len(text) <= 20_000 and "\x00" not in text and _encodable(text)
        for text in texts
    )


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
