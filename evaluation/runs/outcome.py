"""From a request to the outcome of its calls: send it once, read the reply, and decide on a retry."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from annotator.hit_types.base import FieldErrors, Unparsable
from evaluation.core.failure_words import pause_words
from evaluation.models import Call, Endpoint, Run
from evaluation.prompts.injection import gives_orders
from evaluation.providers.base import (
    ITEM_REFUSED,
    NEEDS_CHANGE,
    PERHAPS_ITEM,
    PERHAPS_PAID,
    ChatReply,
    ChatRequest,
    ProviderError,
)
from evaluation.providers.contract import ModelClient
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.canary import refused_words
from evaluation.runs.claim import Hit
from evaluation.runs.confidence import answer_confidence
from evaluation.runs.health import TROUBLE
from evaluation.runs.repair import INCOMPLETE, joined_result
from evaluation.runs.request import Prices, Ready, looks_cut_off, share_of
from evaluation.runs.settle import backoff
from evaluation.runs.step import ClaimedCall, Step, cut_off
from evaluation.runs.together import together_split

log = logging.getLogger(__name__)
#: Longer texts aren't parsed: no answer needs them, and matching a pattern could take minutes.
MAX_TEXT = 200_000
#: The columns of a stored reply that another call with the same request takes over.
_SHARED = (
    "id", "text", "reply", "model_returned", "fingerprint", "tokens_in", "tokens_out", "confidence",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunReplies:
    """The replies to one run's requests, as the outcomes of its calls."""

    run: Run
    endpoint: Endpoint
    step: Step
    rng: random.Random = field(default_factory=random.Random)

    async def ask(self, client: ModelClient, ready: Ready) -> list[Outcome]:
        """Send one request and read its reply. Never raises: every failure becomes the outcome of its calls."""
        started = time.perf_counter()
        reply: ChatReply | ProviderError
        try:
            reply = await client.chat(ready.request)
        except ProviderError as error:
            reply = error
        except Exception as error:
            log.exception("run %s: sending a request failed", self.run.pk)
            reply = ProviderError("unexpected", f"{type(error).__name__}: {error}"[:500])
        return self.read(ready, reply, seconds=time.perf_counter() - started)

    def read(self, ready: Ready, reply: ChatReply | ProviderError, *, seconds: float = 0.0) -> list[Outcome]:
        """The outcomes of a request's calls, from its reply or its error. Never raises."""
        try:
            if isinstance(reply, ProviderError):
                outcomes = self._failed_all(ready, reply, seconds)
                calls = zip(ready.calls, outcomes, strict=True)
                outcomes = [self._refused(call, outcome) for call, outcome in calls]
            elif len(ready.calls) > 1:
                outcomes = self._read_together(ready, reply)
            else:
                cost = self._cost(ready, reply)
                outcomes = [self._parsed(ready, ready.calls[0], reply, reply.text, cost)]
            for call, outcome in zip(ready.calls, outcomes, strict=True):
                outcome.usable = self._usable(call, outcome)
            return _of_one_request(ready, outcomes)
        except Exception as error:
            log.exception("run %s: the outcome of a request cannot be made", self.run.pk)
            kept = reply if isinstance(reply, ChatReply) else reply.reply
            unexpected = ProviderError("unexpected", f"{type(error).__name__}: {error}"[:500], reply=kept)
            return _of_one_request(ready, self._failed_all(ready, unexpected, seconds))

    def failed(self, ready: Ready, error: ProviderError, *, seconds: float = 0.0) -> list[Outcome]:
        """The outcomes of a request without a reply: lost, or given up because its run was cancelled."""
        return _of_one_request(ready, self._failed_all(ready, error, seconds))

    def _usable(self, call: ClaimedCall, outcome: Outcome) -> bool | None:
        """Whether an attempt gave a usable reply; a refusal is one if the step counts refusals as results."""
        kind = outcome.error_kind
        if kind in TROUBLE or kind == "cancelled":
            return None
        if kind == "refusal" and self.step.refused(self.run, call, outcome.text) is not None:
            return True
        return kind in ("", INCOMPLETE)

    # -- replies ------------------------------------------------------------------------------------

    def _read_together(self, ready: Ready, reply: ChatReply) -> list[Outcome]:
        """Match replies to calls by name; calls without a reply are retried."""
        share = share_of(self._cost(ready, reply), len(ready.calls))
        problem = Unparsable("the reply has no answer for this item", kind="missing")
        texts: dict[int, str] = {}
        try:
            cut_off(reply.finish)
            texts = together_split(reply.text, ready.calls)
        except Unparsable as error:
            problem = error
        except Exception as error:
            log.exception("run %s: splitting a reply to %s calls failed", self.run.pk, len(ready.calls))
            problem = Unparsable(f"{type(error).__name__}: {error}"[:500], kind="unexpected")
        return [
            self._parsed(ready, call, reply, texts[call.id], share)
            if call.id in texts
            else self._unreadable(call, _received(ready, call, reply, "", share), problem)
            for call in ready.calls
        ]

    def _parsed(self, ready: Ready, call: ClaimedCall, reply: ChatReply, text: str, cost: Decimal) -> Outcome:
        """The outcome of a call from the text that answers it."""
        outcome = _received(ready, call, reply, text, cost)
        try:
            if len(ready.calls) == 1:
                cut_off(reply.finish, reply.text)
            if len(text) > MAX_TEXT:
                raise Unparsable(f"the reply is longer than {MAX_TEXT:,} characters", kind="too_long")
            return parsed(run=self.run, step=self.step, call=call, outcome=outcome)
        except Unparsable as error:
            return self._refused(call, self._unreadable(call, outcome, error))
        except FieldErrors as error:
            return self._unreadable(call, outcome, Unparsable(str(error), kind="invalid"))
        except Exception as error:
            log.exception("run %s: reading the reply to %s failed", self.run.pk, call.key)
            problem = Unparsable(f"{type(error).__name__}: {error}"[:500], kind="unexpected")
            return self._unreadable(call, outcome, problem)

    def _unreadable(self, call: ClaimedCall, outcome: Outcome, error: Unparsable) -> Outcome:
        """The call is sent again a limited number of times, then recorded as unparsable, or as done with the good parts of
        earlier replies."""
        outcome.parsed, outcome.next = (call.last or {}).get("parsed"), None
        outcome.error_kind, outcome.error = error.kind, str(error)
        state = outcome.state if outcome.parsed is not None else Call.State.UNPARSABLE
        return self._asked_again(call, outcome, finally_=state)

    def _asked_again(self, call: ClaimedCall, outcome: Outcome, *, finally_: str) -> Outcome:
        """One more unreadable reply: the call is pending again, or in its final state after too many of them."""
        outcome.unreadable = True
        if call.unparsable + 1 < self.run.max_unparsable:
            outcome.state, outcome.again_in = Call.State.PENDING, 0.1 * self.rng.random()
        else:
            outcome.state = finally_
        return outcome

    def _refused(self, call: ClaimedCall, outcome: Outcome) -> Outcome:
        """A final refusal counts as a result if the step says so, because refusing is then what the model does."""
        if outcome.state == Call.State.UNPARSABLE and outcome.error_kind == "refusal":
            result = self.step.refused(self.run, call, outcome.text)
            if result is not None:
                outcome.state, outcome.parsed = Call.State.DONE, result
        return outcome

    # -- errors -------------------------------------------------------------------------------------

    def _failed_all(self, ready: Ready, error: ProviderError, seconds: float) -> list[Outcome]:
        cost = self._cost_of_error(ready, error)
        return [self._failed(ready, call, error, cost, seconds) for call in ready.calls]

    def _failed(
        self, ready: Ready, call: ClaimedCall, error: ProviderError, cost: Decimal, seconds: float
    ) -> Outcome:
        """A retry, a recorded failure, or a pause of the run."""
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
        attempts = call.attempts + 1 - call.lost - call.excused
        # 502 to 504 come from gateways and overloaded servers; 500 may be what this prompt does to the server.
        outcome.repeated = error.kind == "server" and error.status == 500 and attempts - call.unparsable > 1
        outcome.status, outcome.attempt = error.status, attempts
        if error.kind in PERHAPS_ITEM:
            outcome.state, outcome.pause = Call.State.PENDING, refused_words(error.kind, str(error))
            outcome.if_refused = self.step.refused(self.run, call, "")
        elif error.kind in NEEDS_CHANGE:
            outcome.state, outcome.pause = Call.State.PENDING, pause_words(error.kind, str(error))
        elif error.kind in ITEM_REFUSED:
            pass  # only this item fails: the next one may be accepted
        elif error.kind == "content_filter" and error.status:
            outcome.state = Call.State.UNPARSABLE  # the same prompt would be refused again
        elif error.kind in ("refusal", "content_filter"):
            return self._asked_again(call, outcome, finally_=Call.State.UNPARSABLE)
        elif attempts < self.run.max_attempts:
            outcome.state = Call.State.PENDING
            outcome.again_in = backoff(attempts, error.retry_after, self.rng)
            if error.kind == "rate_limit" and error.retry_after:
                outcome.hold = error.retry_after
        return outcome

    # -- costs --------------------------------------------------------------------------------------

    def _cost(self, ready: Ready, reply: ChatReply) -> Decimal:
        """The cost of a reply; if the endpoint doesn't report tokens, the most that it can have cost."""
        if reply.tokens_in is None or reply.tokens_out is None:
            return sum(ready.reserved.values(), Decimal(0))
        return Prices.of(self.endpoint).cost(reply.tokens_in, reply.tokens_out, reply.tokens_cached or 0)

    def _cost_of_error(self, ready: Ready, error: ProviderError) -> Decimal:
        """One call's share of the certain cost of a failed request; ``Outcome.charge`` is about its possible cost."""
        reply = error.reply
        if reply is None:
            return Decimal(0)
        counted = reply.tokens_in is not None and reply.tokens_out is not None
        if counted or error.kind in ("refusal", "content_filter"):
            return share_of(self._cost(ready, reply), len(ready.calls))
        return Decimal(0)


def _of_one_request(ready: Ready, outcomes: list[Outcome]) -> list[Outcome]:
    return [
        replace(outcome, of_request=int(n == 0), estimated=ready.tokens if n == 0 else 0)
        for n, outcome in enumerate(outcomes)
    ]


def _received(ready: Ready, call: ClaimedCall, reply: ChatReply, text: str, cost: Decimal) -> Outcome:
    """The outcome of a call whose reply has arrived, before its text is parsed."""
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


def parsed(*, run: Run, step: Step, call: ClaimedCall, outcome: Outcome) -> Outcome:
    """Add the parsed text and the next stage's call to an outcome; raises ``Unparsable``, ``FieldErrors``."""
    if any(gives_orders(text) for text in step.texts(call)):
        outcome.flags = [*outcome.flags, "injection"]
    result = joined_result(run=run, step=step, call=call, result=step.read(run, call, outcome.text))
    outcome.parsed = result
    lacking = step.lacking(run, call, result)
    if lacking and call.unparsable + 1 < run.max_unparsable:
        outcome.state, outcome.again_in, outcome.unreadable = Call.State.PENDING, 0.0, True
        outcome.error_kind, outcome.error = INCOMPLETE, lacking
        return outcome
    outcome.next = step.after(run, call, result)
    return outcome


def from_cache(*, run: Run, step: Step, hits: Sequence[Hit]) -> list[Outcome]:
    """The outcomes of calls answered from the cache, parsed by this run's own step; they cost nothing."""
    if not hits:
        return []
    sources = {
        row.pop("id"): row
        for row in Call.objects.filter(pk__in=[hit.source for hit in hits]).values(*_SHARED)
    }
    outcomes = []
    for hit in hits:
        outcome = Outcome(id=hit.call.id, state=Call.State.DONE, of_request=0, **sources[hit.source])
        outcome.flags = _flags(hit.request, outcome.tokens_in)
        try:
            outcome = parsed(run=run, step=step, call=hit.call, outcome=outcome)
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


def unsent(ready: Ready) -> list[Outcome]:
    """The outcomes of requests that were claimed and never sent: pending again, at no cost."""
    pending = [
        Outcome(id=call.id, state=Call.State.PENDING, reserved=ready.reserved[call.id], sent=False)
        for call in ready.calls
    ]
    return _of_one_request(ready, pending)
