"""What became of one call of a run, before it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from annotator.hit_types.base import JSON
from evaluation.runs.step import Job


@dataclass
class Outcome:
    """The outcome of one call. ``again_in``: for a pending call, the seconds until it may be tried again.

    ``cost`` is what the reply cost; ``charge`` says that a request without a reply may have cost everything that was
    reserved. ``pause`` is the reason to pause the run, if any.
    """

    id: int
    state: str
    reserved: Decimal = Decimal(0)
    cost: Decimal = Decimal(0)
    charge: bool = False
    sent: bool = True
    text: str = ""
    reply: JSON | None = None
    parsed: JSON | None = None
    flags: list[str] = field(default_factory=list)
    error_kind: str = ""
    error: str = ""
    unreadable: bool = False
    model_returned: str = ""
    fingerprint: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    #: The model's probability of the answer that it gave.
    confidence: float | None = None
    #: Tokens that were booked against the endpoint's rate when the request was claimed.
    estimated: int = 0
    seconds: float | None = None
    again_in: float | None = None
    next: Job | None = None
    pause: str = ""
    #: Seconds that the endpoint asked to wait before the next request.
    hold: float = 0.0
    #: The attempt failed because of the endpoint and doesn't count.
    excused: bool = False
    #: The call has failed in this way before, so the failure may be its own fault and not the endpoint's.
    repeated: bool = False
    #: Whether the attempt gave a usable reply; None if that says nothing about the server's replies (not sent, from the
    #: cache, rate limit, outage).
    usable: bool | None = None
    #: The HTTP status of a failed request, and which attempt of its call it was, not counting lost and excused ones.
    status: int = 0
    attempt: int = 1
    #: The result if the server refuses this item for good; None if a refusal is not a result.
    if_refused: JSON | None = None
    #: 1 for the first call of a request and 0 for the others, so that requests are counted once.
    of_request: int = 1
