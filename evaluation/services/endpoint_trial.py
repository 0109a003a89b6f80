"""Test an endpoint with one request like those of runs, and save the settings that its model or server needs."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace

from django.core.exceptions import ValidationError

from annotator.hit_types.registry import hit_type_get
from annotator.models import Study
from evaluation.models import Call, Endpoint, Run
from evaluation.providers.base import ChatReply, ProviderError
from evaluation.providers.keys import KeyRefused
from evaluation.providers.profiles import profile_named, profile_proposed
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.claim import build
from evaluation.runs.create import RunPlan
from evaluation.runs.outcome import RunReplies
from evaluation.runs.request import Ready
from evaluation.runs.step import ClaimedCall, Job
from evaluation.selectors.endpoint import endpoint_client
from evaluation.services.endpoint import endpoint_save
from evaluation.simulators.prepare import Simulate
from evaluation.simulators.start import with_temperature

log = logging.getLogger(__name__)
#: The HIT type whose first practice question is asked.
KIND = "simulation"


@dataclass(frozen=True)
class EndpointTrial:
    """The result of a test request: ``message`` is the reply, or the error.

    ``profile`` names the settings that would help, for ``endpoint_correct``; empty if none are known.
    """

    ok: bool
    message: str
    seconds: float = 0.0
    profile: str = ""


def endpoint_try(*, endpoint: Endpoint) -> EndpointTrial:
    """Ask one question as a simulator's run would, and read the reply as it would. Never raises, whatever the endpoint does."""
    try:
        return asyncio.run(_try(endpoint))
    except (ProviderError, KeyRefused) as error:
        return EndpointTrial(False, str(error))
    except Exception as error:
        log.exception("testing endpoint %s failed", endpoint.pk)
        return EndpointTrial(False, f"{type(error).__name__}: {error}"[:500])


def endpoint_correct(*, endpoint: Endpoint, profile: str) -> Endpoint:
    """Save an endpoint with the settings of the profile with this name. Raises ``ValidationError``."""
    chosen = profile_named(profile)
    if chosen is None:
        raise ValidationError("There is no such profile. Test the endpoint again.")
    for name, value in chosen.fields.items():
        setattr(endpoint, name, value)
    kept = {name: value for name, value in endpoint.parameters.items() if name not in chosen.drops}
    endpoint.parameters = kept | dict(chosen.parameters)
    return endpoint_save(endpoint=endpoint)


async def _try(endpoint: Endpoint) -> EndpointTrial:
    kind = hit_type_get(KIND)
    plan = RunPlan(prompt=kind.prompt_text)
    run = Run(
        kind=Simulate.name,
        study=Study(hit_type=KIND),
        endpoint=endpoint,
        model=endpoint.model,
        prompt=plan.prompt,
        parameters=with_temperature(plan, endpoint),
        max_attempts=1,
        max_unparsable=1,
    )
    step = Simulate()
    call = replace(ClaimedCall.of_job(Job(key="test")), thing=kind.practice[0].payload)
    client = endpoint_client(endpoint)
    request = build(run, endpoint, step, call)
    started = time.perf_counter()
    reply: ChatReply | ProviderError
    try:
        reply = await client.chat(request)
    except ProviderError as error:
        reply = error
    finally:
        await client.aclose()
    seconds = time.perf_counter() - started
    replies = RunReplies(run=run, endpoint=endpoint, step=step)
    ready = Ready(request, (call,), {call.id: endpoint.price_in * 0})
    outcome = replies.read(ready, reply, seconds=seconds)[0]
    if outcome.state == Call.State.DONE:
        return EndpointTrial(
            True, f"{outcome.model_returned or endpoint.model}: {outcome.text[:200]}", seconds
        )
    proposed = profile_proposed(
        request=request,
        kind=outcome.error_kind,
        said=outcome.error,
        thinking_tokens=endpoint.thinking_tokens,
    )
    return EndpointTrial(False, _problem(outcome), seconds, proposed)


def _problem(outcome: Outcome) -> str:
    said = f" The reply was: {outcome.text[:200]!r}" if outcome.text else ""
    return f"{outcome.error}{said}"
