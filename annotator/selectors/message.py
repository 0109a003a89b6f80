"""Messages between participants and researchers."""

from __future__ import annotations

from annotator.models import Message


def replies_unread(*, rater_id: int) -> list[Message]:
    """Researchers' replies to a participant who has not read them yet, oldest first; at most three."""
    unread = Message.objects.filter(rater_id=rater_id, kind=Message.Kind.REPLY, read_at=None)
    return list(unread.select_related("study").order_by("created_at")[:3])
