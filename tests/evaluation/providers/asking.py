"""One request to a provider, as tests send it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from annotator.core.outgoing.hosts import HostPolicy
from evaluation.providers.base import ChatRequest
from evaluation.providers.client import client_of
from evaluation.providers.contract import Access
from evaluation.providers.registry import DEFAULT, PROVIDERS
from tests.evaluation.scripted_process import ScriptedProcess

Ask = Callable[[Any], Coroutine[Any, Any, Any]]


def in_thread(coroutine: Any) -> Any:
    """Run to the end in a thread of its own, because a browser test of the session may leave an event loop running in this one."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def ask(
    provider: ScriptedProcess,
    what: Ask,
    *,
    path: str = "/v1",
    timeout: float = 300.0,
    key: str = "sk-test",
    api: str = DEFAULT,
    **access: Any,
) -> Any:
    """What a client of this provider returns for one request."""

    async def main() -> Any:
        client = client_of(
            PROVIDERS.get(api),
            Access(
                base_url=provider.root + path,
                key=key,
                policy=HostPolicy.from_entries([provider.host]),
                timeout=timeout,
                **access,
            ),
        )
        try:
            return await what(client)
        finally:
            await client.aclose()

    return in_thread(main())


def chat(model: str, text: str = "Can owls swim?") -> Ask:
    """A chat request with one message."""
    request = ChatRequest(model, ({"role": "user", "content": text},), {"max_tokens": 100})
    return lambda client: client.chat(request)
