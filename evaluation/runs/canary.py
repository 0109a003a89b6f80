"""Whether a server's replies are usable: a few requests at a time until the first ones were, and a pause as soon as most aren't.

A run keeps what became of its latest attempts since its last start, oldest first, as one letter each. Replies from the cache,
rate limits and outages aren't among them: ``evaluation.runs.health`` deals with those.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from evaluation.core.failure_words import failure_words, pause_words
from evaluation.models import Call
from evaluation.providers.base import PERHAPS_ITEM
from evaluation.runs.call_outcome import Outcome

USABLE, UNUSABLE, REFUSED = "u", "x", "r"
#: The number of attempts at the start that must mostly be usable.
CANARY = 20
#: Requests in flight at the start, and after ``IN_A_ROW`` attempts that were all in vain. Each usable reply at the start adds one.
AT_ONCE = 4
IN_A_ROW = 5
#: The latest attempts that a run keeps: how many of them were in vain decides on a pause later on.
KEPT = 40
#: The kind of failure of a call that the server refuses because of its content.
ITEM_REFUSED = "item_refused"
#: A key or an address is wrong after this many refusals in a row: at the start, and after the run had a usable reply.
REFUSED_AT_START = 3
REFUSED_IN_A_ROW = 10
#: How often a call is sent whose key was refused after other calls were answered.
KEY_ATTEMPTS = 3
#: Seconds before a refused request is sent again: other calls are sent first.
REFUSED_WAIT = 1.0


def at_once(latest: str) -> int | None:
    """How many requests of a run may be in flight, by its latest attempts; None: as many as its endpoint allows.

    >>> at_once(""), at_once("uux"), at_once("u" * 20), at_once("u" * 20 + "x" * 5)
    (4, 6, None, 4)
    """
    if len(latest) >= IN_A_ROW and USABLE not in latest[-IN_A_ROW:]:
        return AT_ONCE
    return AT_ONCE + latest.count(USABLE) if len(latest) < CANARY else None


def latest_after(latest: str, outcomes: Sequence[Outcome]) -> str:
    """The latest attempts of a run after these outcomes."""
    letters = (
        USABLE if outcome.usable else REFUSED if outcome.error_kind in PERHAPS_ITEM else UNUSABLE
        for outcome in outcomes
        if outcome.usable is not None
    )
    return (latest + "".join(letters))[-KEPT:]


def share_reason(latest: str, *, most: float, outcomes: Sequence[Outcome]) -> str:
    """Why the run is to pause, if more than the share ``most`` of its first or of its latest attempts were in vain; else empty."""
    in_vain = len(latest) - latest.count(USABLE)
    at_start, full = len(latest) == CANARY, len(latest) == KEPT
    none_usable = len(latest) >= CANARY and USABLE not in latest[-CANARY:] and most < 1
    if not none_usable and not ((at_start or full) and in_vain > most * len(latest)):
        return ""
    last = next((outcome for outcome in reversed(outcomes) if outcome.usable is False), None)
    if last is None:
        return ""
    return (
        f"{in_vain} of the {'first' if at_start else 'latest'} {len(latest)} replies couldn't be used. The last one: "
        f"{failure_words(last.error_kind)}. {last.error[:300]} Fix the cause and resume, or allow a larger share of failed calls."
    )


def refusals_decide(
    outcomes: Sequence[Outcome], *, latest: str, is_answered: Callable[[], bool], rng: random.Random
) -> str:
    """Decide what becomes of calls that were answered 401, 403 or 404; returns why the run is to pause, or an empty text.

    Such a status can be about the endpoint (a wrong key, no such model) or about one item (moderation), and the server
    doesn't say which. Until a call of the run has been answered, three in a row are about the endpoint. Afterwards one is the
    outcome of its item, unless ten in a row are like that; a refused key is tried again first. Changes the outcomes.
    """
    refused = [outcome for outcome in outcomes if outcome.error_kind in PERHAPS_ITEM and outcome.pause]
    if not refused:
        return ""
    answered = USABLE in latest or is_answered()
    in_a_row = len(latest) - len(latest.rstrip(REFUSED))
    most = REFUSED_IN_A_ROW if answered else REFUSED_AT_START
    if in_a_row >= most:
        return refused[-1].pause
    for one in refused:
        lately = USABLE in latest[-REFUSED_IN_A_ROW:]
        again = one.error_kind == "unauthorized" and one.status == 401 and one.attempt < KEY_ATTEMPTS
        if not answered or again:
            one.pause, one.again_in = "", REFUSED_WAIT * (1 + rng.random())
        elif one.status != 401 or lately:
            _refuse(one)
    return next((one.pause for one in refused if one.pause), "")


def _refuse(outcome: Outcome) -> None:
    """The server refuses this item: that is its outcome, or its result if the step counts refusals as results."""
    outcome.pause, outcome.error_kind = "", ITEM_REFUSED
    outcome.state = Call.State.FAILED
    if outcome.if_refused is not None:
        outcome.state, outcome.parsed = Call.State.DONE, outcome.if_refused


def refused_words(kind: str, error: str) -> str:
    """Why a run pauses whose requests were refused, and what to do."""
    return f"{pause_words(kind, error)} If the server refuses only some items (moderation), continue without them."
