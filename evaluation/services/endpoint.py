"""Endpoints: kept with their key sealed, and tried out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.models import Workspace
from evaluation.models import Endpoint
from evaluation.providers.base import ChatRequest, ProviderError
from evaluation.providers.hosts import HostRefused, check_origin, origin_of
from evaluation.providers.keys import KeyRefused, key_seal
from evaluation.runs.request import parameters_check
from evaluation.selectors.endpoint import endpoint_key, endpoint_provider, host_policy, key_secrets


@dataclass(frozen=True)
class Tried:
    """What came of asking an endpoint one small question."""

    ok: bool
    said: str
    seconds: float = 0.0


@transaction.atomic
def endpoint_save(
    *, endpoint: Endpoint, key: str = "", shared_with: Iterable[Workspace] | None = None
) -> Endpoint:
    """Keep an endpoint, and which workspaces may use it (None: as before). A new ``key`` is sealed for its address; a key given for another address is dropped.

    Raises ``ValidationError`` keyed by field, also where the host may not be asked.
    """
    try:
        parameters_check(endpoint.parameters)
    except ValueError as error:
        raise ValidationError({"parameters": str(error)}) from None
    endpoint.full_clean()
    try:
        origin = origin_of(endpoint.base_url)
        check_origin(origin, host_policy())
    except HostRefused as error:
        raise ValidationError({"base_url": str(error)}) from None
    if key:
        endpoint.key_encrypted = key_seal(key=key, origin=origin, secrets=key_secrets())
        endpoint.key_variable = ""
    elif endpoint.key_encrypted and not endpoint.key_variable:
        try:
            endpoint_key(endpoint)
        except KeyRefused:
            endpoint.key_encrypted = b""
    if endpoint.key_variable:
        endpoint.key_encrypted = b""
        try:
            endpoint_key(endpoint)
        except KeyRefused as error:
            raise ValidationError({"key_variable": str(error)}) from None
    endpoint.save()
    if shared_with is not None:
        endpoint.shared_with.set(one for one in shared_with if one.pk != endpoint.workspace_id)
    return endpoint


def endpoint_try(*, endpoint: Endpoint) -> Tried:
    """Ask for one word; says what went wrong if something did."""
    try:
        return asyncio.run(_try(endpoint))
    except (ProviderError, KeyRefused) as error:
        return Tried(False, str(error))


async def _try(endpoint: Endpoint) -> Tried:
    provider = endpoint_provider(endpoint)
    started = time.perf_counter()
    parameters = {"max_tokens": 16} | {k: v for k, v in endpoint.parameters.items() if v is not None}
    try:
        reply = await provider.chat(
            ChatRequest(
                endpoint.model, ({"role": "user", "content": "Reply with the word ready."},), parameters
            )
        )
    finally:
        await provider.aclose()
    return Tried(True, f"{reply.model or endpoint.model}: {reply.text[:200]}", time.perf_counter() - started)
