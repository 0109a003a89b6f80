"""The ``openai`` client over the checked transport: chats, models, embeddings, files, batches and fine-tuning.

It gets the server's reply as it is (``cast_to``), because making its own model of each chat takes as long as sending it. In this way it
costs 8 % of the throughput at 64 chats in flight, and half a millisecond of processor time a chat (benchmarks/llm/README.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import httpx2

from annotator.core.outgoing import transport
from evaluation.providers.base import ProviderError
from evaluation.providers.client import Client, json_object, transport_error
from evaluation.providers.contract import JSON
from evaluation.providers.streamed import STREAM_FACTOR, completion_of, is_stream

if TYPE_CHECKING:
    import openai

#: The client requires a key even if the endpoint doesn't.
NO_KEY = "none"
#: Where chats are sent, below the base URL.
CHATS = "/chat/completions"


class OpenAIClient(Client):
    """One endpoint that speaks the OpenAI protocol."""

    #: Whether streams are to end with the number of tokens; not at servers that have refused to.
    asks_for_usage = True

    @cached_property
    def openai(self) -> openai.AsyncOpenAI:
        """The client, over the checked transport. Imported late, because the web process doesn't need it."""
        import openai

        access = self.access
        self.http.event_hooks = {"request": [self._prepare]}
        return openai.AsyncOpenAI(
            api_key=access.key or NO_KEY,
            base_url=access.base_url,
            max_retries=0,
            timeout=transport.timeouts(access.timeout),
            http_client=self.http,
            default_headers={**access.headers, **self.provider.headers(access)},
            default_query=dict(self.query) or None,
        )

    async def _prepare(self, request: httpx2.Request) -> None:
        """Limit the reply, and send no authorization without a key, or with one in a header of its own (Azure)."""
        is_chat = request.url.path.endswith(CHATS)
        request.extensions.setdefault(
            transport.MOST_BYTES, self._most_chat_bytes if is_chat else self.provider.most_bytes
        )
        if not any(name.lower() == "authorization" for name in self.provider.headers(self.access)):
            request.headers.pop("Authorization", None)

    @property
    def _most_chat_bytes(self) -> int:
        return self.provider.most_chat_bytes * (STREAM_FACTOR if self.access.streams else 1)

    async def _chat(self, model: str, body: JSON) -> JSON:
        if not self.access.streams:
            return await self.send("POST", CHATS, body)
        counted = {"stream_options": {"include_usage": True}} if self.asks_for_usage else {}
        try:
            response = await self._post(CHATS, body | {"stream": True} | counted)
        except ProviderError as error:
            if not counted or "stream_options" not in str(error):
                raise
            self.asks_for_usage = False  # such servers report the tokens unasked, or not at all
            return await self._chat(model, body)
        return completion_of(response.content) if is_stream(response.content) else json_object(response)

    async def send(
        self,
        method: str,
        path: str,
        body: JSON | None = None,
        *,
        query: Mapping[str, str] | None = None,
        most_bytes: int | None = None,
    ) -> JSON:
        if method != "GET":
            return json_object(await self._post(path, body))
        async with self._errors(self.access.timeout):
            response = await self.openai.get(path, cast_to=httpx2.Response, options={"params": query or {}})
        return json_object(response)

    async def _post(self, path: str, body: JSON | None) -> httpx2.Response:
        async with self._errors(self.access.timeout):
            return await self.openai.post(path, cast_to=httpx2.Response, body=body)

    async def upload(self, path: str, name: str, content: bytes, fields: Mapping[str, str]) -> JSON:
        async with self._errors(self._file_seconds):
            response = await self.openai.files.with_raw_response.create(
                file=(name, content),
                purpose=fields["purpose"],  # type: ignore[arg-type]  # ours are batch and fine-tune
                timeout=transport.timeouts(self._file_seconds),
            )
        return json_object(response.http_response)

    async def download(self, path: str) -> bytes:
        async with self._errors(self._file_seconds):
            response = await self.openai.get(
                path,
                cast_to=httpx2.Response,
                options={"timeout": transport.timeouts(self._file_seconds)},
            )
        return bytes(response.content)

    @asynccontextmanager
    async def _errors(self, seconds: float) -> AsyncIterator[None]:
        """Give up after ``seconds``, and raise every failure as ``ProviderError``. The client's own timeout starts again with
        each byte received."""
        import openai

        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise ProviderError("timeout", f"The reply was not complete after {seconds:g} s.") from error
        except openai.APIStatusError as error:
            if error.response.is_redirect:
                raise ProviderError(
                    "refused_host", "the endpoint answered with a redirect, which is not followed"
                ) from error
            raise self._error(error.response) from error
        except openai.APITimeoutError as error:
            raise transport_error(error.__cause__ or error) from error  # type: ignore[arg-type]
        except openai.APIConnectionError as error:
            raise transport_error(error.__cause__ or error) from error  # type: ignore[arg-type]
        except Exception as error:
            raise transport_error(error) from error
