"""A panel's webhooks, in our words: what happened to a submission, or to one of the panel's studies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

#: Kinds of events. A panel translates its own into these; another kind is stored and changes nothing.
SUBMISSION_CHANGED, STUDY_CHANGED = "submission.status.change", "study.status.change"
#: The researchers have rejected the submission.
REJECTED = "REJECTED"
#: Statuses of a submission from first to last; decides between two of the same second.
STATUSES = (
    "RESERVED", "ACTIVE", "AWAITING REVIEW", "PARTIALLY APPROVED", "APPROVED", "SCREENED OUT", "TIMED OUT", "RETURNED", REJECTED,
)  # fmt: skip
#: Statuses at which the participant no longer works on their submission and isn't paid for it.
ENDED = frozenset({"RETURNED", "TIMED OUT", REJECTED})


class WebhookRefused(ValueError):
    """A webhook isn't processed: ``status`` is the HTTP status of the reply."""

    def __init__(self, message: str, *, status: int):
        self.status = status
        super().__init__(message)


@dataclass(frozen=True)
class Webhook:
    """A verified webhook. ``subject`` is the id of a submission or study, ``person`` of its participant, if there is one;
    ``at`` is when it happened. Two with the same ``event_id`` or ``signature_digest`` are the same event."""

    event_id: str
    signature_digest: str
    kind: str
    subject: str
    person: str
    status: str
    at: datetime


def status_read(status: str) -> str:
    """A status in one spelling.

    >>> status_read("TIMED-OUT"), status_read("awaiting_review")
    ('TIMED OUT', 'AWAITING REVIEW')
    """
    return re.sub(r"[-_ ]+", " ", status).strip().upper()[:40]


def status_rank(status: str) -> int:
    """The place of a status in ``STATUSES``; -1 for one that isn't known."""
    return STATUSES.index(status) if status in STATUSES else -1
