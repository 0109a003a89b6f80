"""From a request to the outcome of its calls: send it once, read the reply, and decide on a retry."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from annotator.hit_types.base import FieldErrors, Unparsable
from evaluation.core.failure_words import pause_words
from evaluation.models import Call, Endpoint, Run
from evaluation.prompts.injection import gives_orders
from evaluation.providers.base import PERHAPS_PAID, ChatReply, ChatRequest, Provider, ProviderError
from evaluation.runs.claim import Hit, Ready
from evaluation.runs.confidence import answer_confidence
from evaluation.runs.repair import INCOMPLETE, joined_result
from evaluation.runs.request import Prices, looks_cut_off, share_of
from evaluation.runs.settle import Outcome, backoff
from evaluation.runs.step import ClaimedCall, Step, cut_off
from evaluation.runs.together import together_split

log = logging.getLogger(__name__)
#: Longer texts aren't parsed: no answer needs them, and matching a pattern could take minutes.
MAX_TEXT = 200_000
#: Errors that would occur again for the same item.
ITEM_REFUSED = frozenset({"bad_request", "context_length"})
#: Errors in the endpoint's configuration: the run pauses and the call stays pending.
_PAUSE_AND_KEEP = frozenset({"unauthorized", "not_found", "refused_host", "no_quota"})


async def answered(
    *, provider: Provider, run: Run, endpoint: Endpoint, step: Step, ready: Ready, rng: random.Random
) -> list[Outcome]:
    """Send one request and read its reply. Never raises: every failure becomes the outcome of its calls."""
    started = time.perf_counter()
    reply: ChatReply | ProviderError
    try:
        reply = await provider.chat(ready.request)
    except ProviderError as error:
        reply = error
    except Exception as error:
        log.exception("run %s: sending a request failed", run.pk)
        reply = ProviderError("unexpected", f"{type(error).__name__}: {error}"[:500])
    return reply_outcomes(
        run=run,
        endpoint=endpoint,
        step=step,
        ready=ready,
        reply=reply,
        rng=rng,
        seconds=time.perf_counter() - started,
    )


def reply_outcomes(
    *,
    run: Run,
    endpoint: Endpoint,
    step: Step,
    ready: Ready,
    reply: ChatReply | ProviderError,
    rng: random.Random,
    seconds: float = 0.0,
) -> list[Outcome]:
    """The outcomes of a request's calls, from its reply or its error. Never raises."""
    try:
        return _each(ready, _outcomes(run, endpoint, step, ready, reply, rng, seconds))
    except Exception as error:
        log.exception("run %s: the outcome of a request cannot be made", run.pk)
        kept = reply if isinstance(reply, ChatReply) else reply.reply
        unexpected = ProviderError("unexpected", f"{type(error).__name__}: {error}"[:500], reply=kept)
        cost = _cost_of_error(Prices.of(endpoint), ready, unexpected)
        return _each(
            ready, [failed(run, ready, call, unexpected, cost, seconds, rng) for call in ready.calls]
        )


def _outcomes(
    run: Run,
    endpoint: Endpoint,
    step: Step,
    ready: Ready,
    reply: ChatReply | ProviderError,
    rng: random.Random,
    seconds: float,
) -> list[Outcome]:
    if len(ready.calls) > 1 and isinstance(reply, ChatReply):
        return _read_together(run, step, ready, reply, Prices.of(endpoint), rng)
    return [
        read_reply(
            run=run,
            endpoint=endpoint,
            step=step,
            ready=ready,
            reply=reply,
            rng=rng,
            call=call,
            seconds=seconds,
        )
        for call in ready.calls
    ]


def read_reply(
    *,
    run: Run,
    endpoint: Endpoint,
    step: Step,
    ready: Ready,
    reply: ChatReply | ProviderError,
    rng: random.Random,
    call: ClaimedCall | None = None,
    seconds: float = 0.0,
) -> Outcome:
    """The outcome of one call, from its reply or its error."""
    call = call or ready.calls[0]
    prices = Prices.of(endpoint)
    if isinstance(reply, ProviderError):
        outcome = failed(run, ready, call, reply, _cost_of_error(prices, ready, reply), seconds, rng)
        return _refused(run, step, call, outcome)
    return _read(run, step, call, ready, reply, reply.text, _cost(prices, ready, reply), rng)


def _each(ready: Ready, outcomes: list[Outcome]) -> list[Outcome]:
    return [
        replace(outcome, of_request=int(n == 0), estimated=ready.tokens if n == 0 else 0)
        for n, outcome in enumerate(outcomes)
    ]


def _cost_of_error(prices: Prices, ready: Ready, error: ProviderError) -> Decimal:
    """One call's share of the certain cost of a failed request; ``Outcome.charge`` is about its possible cost."""
    reply = error.reply
    if reply is None:
        return Decimal(0)
    counted = reply.tokens_in is not None and reply.tokens_out is not None
    if counted or error.kind in ("refusal", "content_filter"):
        return share_of(_cost(prices, ready, reply), len(ready.calls))
    return Decimal(0)


def _cost(prices: Prices, ready: Ready, reply: ChatReply) -> Decimal:
    """The cost of a reply; if the endpoint doesn't report tokens, the most that it can have cost."""
    if reply.tokens_in is None or reply.tokens_out is None:
        return sum(ready.reserved.values(), Decimal(0))
    return prices.cost(reply.tokens_in, reply.tokens_out, reply.tokens_cached or 0)


def _read_together(
    run: Run, step: Step, ready: Ready, reply: ChatReply, prices: Prices, rng: random.Random
) -> list[Outcome]:
    """Match replies to calls by name; calls without a reply are retried."""
    share = share_of(_cost(prices, ready, reply), len(ready.calls))
    trouble = Unparsable("the reply has no answer for this item", kind="missing")
    texts: dict[int, str] = {}
    try:
        cut_off(reply.finish)
        texts = together_split(reply.text, ready.calls)
    except Unparsable as error:
        trouble = error
    except Exception as error:
        log.exception("run %s: splitting a reply to %s calls failed", run.pk, len(ready.calls))
        trouble = Unparsable(f"{type(error).__name__}: {error}"[:500], kind="unexpected")
    outcomes = []
    for call in ready.calls:
        if call.id in texts:
            outcomes.append(_read(run, step, call, ready, reply, texts[call.id], share, rng, whole=True))
        else:
            outcome = _kept(call, ready, reply, "", share)
            outcomes.append(_unreadable(run, call, outcome, trouble, rng))
    return outcomes


def _read(
    run: Run,
    step: Step,
    call: ClaimedCall,
    ready: Ready,
    reply: ChatReply,
    text: str,
    cost: Decimal,
    rng: random.Random,
    *,
    whole: bool = False,
) -> Outcome:
    outcome = _kept(call, ready, reply, text, cost)
    try:
        if not whole:
            cut_off(reply.finish)
        if len(text) > MAX_TEXT:
            raise Unparsable(f"the reply is longer than {MAX_TEXT:,} characters", kind="too_long")
        return parsed(run, step, call, outcome)
    except Unparsable as error:
        return _refused(run, step, call, _unreadable(run, call, outcome, error, rng))
    except FieldErrors as error:
        return _unreadable(run, call, outcome, Unparsable(str(error), kind="invalid"), rng)
    except Exception as error:
        log.exception("run %s: reading the reply to %s failed", run.pk, call.key)
        reason = Unparsable(f"{type(error).__name__}: {error}"[:500], kind="unexpected")
        return _unreadable(run, call, outcome, reason, rng)


def _kept(call: ClaimedCall, ready: Ready, reply: ChatReply, text: str, cost: Decimal) -> Outcome:
    return Outcome(
        id=call.id,
        state=Call.State.DONE,
        flags=_flags(ready.request, reply.tokens_in),
        reserved=ready.reserved[call.id],
        cost=cost,
        text=text,
        reply=reply.raw,
        model_returned=reply.model,
        fingerprint=reply.fingerprint,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        tokens_cached=reply.tokens_cached,
        confidence=answer_confidence(text, reply.tokens) if len(ready.calls) == 1 else None,
        seconds=reply.seconds,
    )


def _flags(request: ChatRequest, tokens_in: int | None) -> list[str]:
    return ["prompt_cut_off"] if looks_cut_off(request, tokens_in) else []


def parsed(run: Run, step: Step, call: ClaimedCall, outcome: Outcome) -> Outcome:
    """Add the parsed text and the next stage's call to an outcome; raises ``Unparsable``, ``FieldErrors``."""
    if any(gives_orders(text) for text in step.texts(call)):
        outcome.flags = [*outcome.flags, "injection"]
    found = joined_result(run=run, step=step, call=call, found=step.read(run, call, outcome.text))
    outcome.parsed = found
    lacking = step.lacking(run, call, found)
    if lacking and call.unparsable + 1 < run.max_unparsable:
        outcome.state, outcome.again_in, outcome.unreadable = Call.State.PENDING, 0.0, True
        outcome.error_kind, outcome.error = INCOMPLETE, lacking
        return outcome
    outcome.next = step.after(run, call, found)
    return outcome


def _unreadable(
    run: Run, call: ClaimedCall, outcome: Outcome, error: Unparsable, rng: random.Random
) -> Outcome:
    """The call is sent again a limited number of times, then recorded as unparsable, or as done with the good parts of
    earlier replies."""
    outcome.parsed, outcome.next = (call.last or {}).get("parsed"), None
    outcome.unreadable = True
    outcome.error_kind, outcome.error = error.kind, str(error)
    if call.unparsable + 1 < run.max_unparsable:
        outcome.state = Call.State.PENDING
        outcome.again_in = 0.1 * rng.random()
    elif outcome.parsed is None:
        outcome.state = Call.State.UNPARSABLE
    return outcome


def _refused(run: Run, step: Step, call: ClaimedCall, outcome: Outcome) -> Outcome:
    """A final refusal counts as a result if the step says so, because refusing is then what the model does."""
    if outcome.state == Call.State.UNPARSABLE and outcome.error_kind == "refusal":
        result = step.refused(run, call, outcome.text)
        if result is not None:
            outcome.state, outcome.parsed = Call.State.DONE, result
    return outcome


def failed(
    run: Run,
    ready: Ready,
    call: ClaimedCall,
    error: ProviderError,
    cost: Decimal,
    seconds: float,
    rng: random.Random,
) -> Outcome:
    """The outcome of a failed request: a retry, a recorded failure, or a pause of the run."""
    outcome = Outcome(
        id=call.id,
        state=Call.State.FAILED,
        reserved=ready.reserved[call.id],
        charge=error.kind in PERHAPS_PAID and (error.reply is None or error.reply.tokens_in is None),
        error_kind=error.kind,
        error=str(error),
        seconds=seconds,
    )
    if error.reply is not None:
        outcome.cost, outcome.reply, outcome.model_returned = cost, error.reply.raw, error.reply.model
        outcome.tokens_in, outcome.tokens_out = error.reply.tokens_in, error.reply.tokens_out
        outcome.tokens_cached = error.reply.tokens_cached
    tries = call.attempts + 1 - call.lost - call.excused
    # 502 to 504 come from gateways and overloaded servers; 500 may be what this prompt does to the server.
    outcome.repeated = error.kind == "server" and error.status == 500 and tries - call.unparsable > 1
    if error.kind in _PAUSE_AND_KEEP:
        outcome.state, outcome.pause = Call.State.PENDING, pause_words(error.kind, str(error))
    elif error.kind in ITEM_REFUSED:
        pass  # only this item fails: the next one may be accepted
    elif error.kind == "content_filter" and error.status:
        outcome.state = Call.State.UNPARSABLE  # the same prompt would be refused again
    elif error.kind in ("refusal", "content_filter"):
        outcome.unreadable = True
        if call.unparsable + 1 < run.max_unparsable:
            outcome.state, outcome.again_in = Call.State.PENDING, 0.1 * rng.random()
        else:
            outcome.state = Call.State.UNPARSABLE
    elif tries < run.max_attempts:
        outcome.state = Call.State.PENDING
        outcome.again_in = backoff(tries, error.retry_after, rng)
        if error.kind == "rate_limit" and error.retry_after:
            outcome.hold = error.retry_after
    return outcome


def from_cache(*, run: Run, step: Step, hits: Sequence[Hit]) -> list[Outcome]:
    """The outcomes of calls answered from the cache, parsed by this run's own step; they cost nothing."""
    sources = {row.pop("id"): row for row in _sources(hits)}
    outcomes = []
    for hit in hits:
        outcome = Outcome(id=hit.call.id, state=Call.State.DONE, of_request=0, **sources[hit.source])
        outcome.flags = _flags(hit.request, outcome.tokens_in)
        try:
            outcome = parsed(run, step, hit.call, outcome)
        except Exception as error:
            # Another step could parse this text and this one can't: ask again, without the same reply.
            outcome.parsed, outcome.unreadable, outcome.error = None, True, str(error)
            if hit.call.unparsable + 1 < run.max_unparsable:
                outcome.state, outcome.again_in = Call.State.PENDING, 0.0
            else:
                outcome.state = Call.State.UNPARSABLE
            outcome.error_kind = getattr(error, "kind", "invalid")
        outcomes.append(outcome)
    return outcomes


def _sources(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    names = (
        "id", "text", "reply", "model_returned", "fingerprint", "tokens_in", "tokens_out", "confidence",
    )  # fmt: skip
    return list(Call.objects.filter(pk__in=[hit.source for hit in hits]).values(*names)) if hits else []


def given_up(*, run: Run, ready: Ready, rng: random.Random) -> list[Outcome]:
    """The outcomes of a request whose reply nobody waits for any more, because its run was cancelled."""
    error = ProviderError("cancelled", "The run was cancelled before the reply arrived.")
    return _each(ready, [failed(run, ready, call, error, Decimal(0), 0.0, rng) for call in ready.calls])


def unsent(ready: Ready) -> list[Outcome]:
    """The outcomes of requests that were claimed and never sent: pending again, at no cost."""
    return _each(
        ready,
        [
            Outcome(id=call.id, state=Call.State.PENDING, reserved=ready.reserved[call.id], sent=False)
            for call in ready.calls
        ],
    )
