"""Flags, questions and answers."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotator.hit_types.base import FieldErrors, clean_text
from annotator.models import Item, Message, Participation, Study, User
from annotator.services.erasure import data_request_open


@transaction.atomic
def message_send(*, participation: Participation, kind: str, text: str, item: Item | None = None) -> Message:
    """Send a flag on an item, a question, or a deletion request, from an annotator. Raises ``ValidationError``."""
    try:
        text = clean_text(text)
    except FieldErrors as error:
        raise ValidationError(error.errors["text"]) from None
    if not text:
        raise ValidationError(gettext("Write a message first."))
    if len(text) > 5000:
        raise ValidationError(gettext("Your message is too long. Write at most 5,000 characters."))
    if kind not in (Message.Kind.FLAG, Message.Kind.QUESTION, Message.Kind.DELETION):
        raise ValidationError(gettext("You can't send this kind of message."))
    if kind == Message.Kind.DELETION:
        data_request_open(participation=participation)
    return Message.objects.create(
        study=participation.study, rater=participation.rater, item=item, kind=kind, text=text
    )


def replies_read(*, rater_id: int) -> int:
    """The participant has read all replies to them; returns how many were new. Tasks no longer announce them."""
    unread = Message.objects.filter(rater_id=rater_id, kind=Message.Kind.REPLY, read_at=None)
    return unread.update(read_at=timezone.now())


@transaction.atomic
def messages_reply(*, study: Study, messages: Sequence[Message], by: User, text: str) -> list[Message]:
    """Send one answer to several messages of a study: once to each participant, settling what they asked, all or none.

    Raises ``ValidationError`` without a text or a message, or if a message belongs to another study.
    """
    if not messages:
        raise ValidationError("Select at least one message.")
    if any(message.study_id != study.pk for message in messages):
        raise ValidationError("One of the messages belongs to another study.")
    latest = {message.rater_id: message for message in messages}
    for message in messages:
        if message.pk != latest[message.rater_id].pk:
            message_settle(message=message)
    return [message_reply(message=one, by=by, text=text) for one in latest.values()]


def message_settle(*, message: Message) -> Message:
    """Take a message off the list of those that wait, without an answer. A deletion request is settled by its decision."""
    if message.kind == Message.Kind.DELETION:
        raise ValidationError("Decide on the deletion request instead.")
    if message.settled_at is None and message.kind != Message.Kind.REPLY:
        message.settled_at = timezone.now()
        message.save(update_fields=["settled_at"])
    return message


@transaction.atomic
def message_reply(*, message: Message, by: User, text: str) -> Message:
    """Send a researcher's answer; the message that it answers is then settled."""
    if not text.strip():
        raise ValidationError(gettext("Write a message first."))
    message.settled_at = timezone.now()
    message.save(update_fields=["settled_at"])
    return Message.objects.create(
        study=message.study,
        rater=message.rater,
        item=message.item,
        kind=Message.Kind.REPLY,
        text=text.strip(),
        author=by,
    )
