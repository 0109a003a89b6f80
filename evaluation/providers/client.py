"""Requests to one endpoint: what its provider makes is sent as JSON over HTTP to one checked origin, and failures get a kind."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx2

from annotator.core.outgoing import transport
from annotator.core.outgoing.hosts import HostRefused, check_origin, origin_of
from annotator.core.outgoing.stream import HandshakeTimeout
from evaluation.providers.base import ChatReply, ChatRequest, ProviderError
from evaluation.providers.contract import JSON, Access, ModelClient, Provider
from evaluation.providers.replies import kind_of_status
from evaluation.providers.settings import tls_context

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: The shortest timeout, in seconds, for uploading or downloading a file.
FILE_SECONDS = 300.0
#: Bytes of a reply that isn't JSON that are stored.
KEPT_BYTES = 64 * 1024


class Client:
    """One endpoint. Raises ``ProviderError`` (refused_host) if requests to its host aren't allowed."""

    def __init__(self, provider: Provider, access: Access) -> None:
        self.provider = provider
        self.access = access
        try:
            origin = origin_of(access.base_url)
            check_origin(origin, access.policy)
        except HostRefused as error:
            raise ProviderError("refused_host", str(error)) from None
        context = tls_context(access.certificates) if origin.scheme == "https" else None
        self.http = transport.client(origin, access.policy, timeout=access.timeout, context=context)
        # What is the same for each request is prepared once: it takes longer than sending the request.
        self.headers = httpx2.Headers({**self.http.headers, **access.headers, **provider.headers(access)})
        self.query = dict(provider.query(access))
        self.timeouts = transport.timeouts(access.timeout).as_dict()
        self.urls: dict[str, httpx2.URL] = {}
        self.takes_other_body = False

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One completion. A server that refuses a chat in its usual form gets it in another one, at once and from then
        on; such a refusal costs nothing. Images are read in a thread, so that other requests don't wait for the database.
        """
        started = time.perf_counter()
        make = self.provider.chat_body
        body = await asyncio.to_thread(make, request) if request.images else make(request)
        # As it is now: another chat may find it out while this one is under way.
        is_other = self.takes_other_body
        if is_other:
            body = self.provider.other_chat_body(body, request, None) or body
        try:
            raw = await self._chat(request.model, body)
        except ProviderError as refused:
            other = None
            if not is_other:
                other = self.provider.other_chat_body(body, request, refused)
            if other is None:
                raise
            try:
                raw = await self._chat(request.model, other)
            except ProviderError as error:
                raise refused if error.kind == "bad_request" else error from None
            self.takes_other_body = True
        return replace(self.provider.read_chat(raw), seconds=time.perf_counter() - started)

    async def _chat(self, model: str, body: JSON) -> JSON:
        limit = self.provider.most_chat_bytes
        return await self.send("POST", self.provider.chat_path(model), body, most_bytes=limit)

    async def embed(self, model: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Embeddings, shape (len(texts), dimensions)."""
        import numpy as np

        path, body = self.provider.embed_request(model, texts)
        raw = await self.send("POST", path, body)
        try:
            vectors = np.array(self.provider.read_embeddings(raw), dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise ProviderError("invalid_reply", "the reply has no embeddings") from None
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ProviderError("invalid_reply", f"asked for {len(texts)} embeddings, got {len(vectors)}")
        return vectors

    async def models(self) -> list[str]:
        """The names of the models served."""
        return self.provider.read_models(await self.send("GET", "/models"))

    async def send(
        self,
        method: str,
        path: str,
        body: JSON | None = None,
        *,
        query: Mapping[str, str] | None = None,
        most_bytes: int | None = None,
    ) -> JSON:
        """The JSON object of the reply; raises ``ProviderError``. ``path`` begins with a slash."""
        url = self._url(path)
        request = httpx2.Request(
            method,
            url.copy_merge_params(query) if query else url,
            json=body,
            headers=self.headers,
            extensions=self._extensions(self.timeouts, most_bytes),
        )
        return json_object(await self._response(request, self.access.timeout))

    async def upload(self, path: str, name: str, content: bytes, fields: Mapping[str, str]) -> JSON:
        """Send a file as a form; the JSON object of the reply."""
        request = self._file_request("POST", path, data=dict(fields), files={"file": (name, content)})
        return json_object(await self._response(request, self._file_seconds))

    async def download(self, path: str) -> bytes:
        """The bytes of a file."""
        response = await self._response(self._file_request("GET", path), self._file_seconds)
        return response.content

    async def aclose(self) -> None:
        await self.http.aclose()

    @property
    def _file_seconds(self) -> float:
        return max(self.access.timeout, FILE_SECONDS)

    def _file_request(self, method: str, path: str, **content: Any) -> httpx2.Request:
        timeouts = transport.timeouts(self._file_seconds).as_dict()
        return httpx2.Request(
            method, self._url(path), headers=self.headers, extensions=self._extensions(timeouts), **content
        )

    def _extensions(self, timeouts: Mapping[str, Any], most_bytes: int | None = None) -> dict[str, Any]:
        return {"timeout": timeouts, transport.MOST_BYTES: most_bytes or self.provider.most_bytes}

    def _url(self, path: str) -> httpx2.URL:
        if path not in self.urls:
            url = httpx2.URL(self.access.base_url.rstrip("/") + path)
            self.urls[path] = url.copy_merge_params(self.query) if self.query else url
        return self.urls[path]

    async def _response(self, request: httpx2.Request, seconds: float) -> httpx2.Response:
        """A response without an error status."""
        try:
            # The client's own timeout starts again with each byte received.
            async with asyncio.timeout(seconds):
                response = await self.http.send(request)
        except TimeoutError as error:
            raise ProviderError("timeout", f"The reply was not complete after {seconds:g} s.") from error
        except Exception as error:
            raise transport_error(error) from error
        if response.is_redirect:
            raise ProviderError(
                "refused_host", "the endpoint answered with a redirect, which is not followed"
            )
        if response.status_code >= 400:
            raise self._error(response)
        return response

    def _error(self, response: httpx2.Response) -> ProviderError:
        status = response.status_code
        try:
            body = json_object(response)
        except ProviderError:
            body = {"message": response.text[:300]}
        message, kind = self.provider.read_error(status, body, base_url=self.access.base_url)
        return ProviderError(
            kind or kind_of_status(status),
            f"HTTP {status}: {message or response.text[:300]}"[:500],
            retry_after=retry_after_of(response.headers),
            status=status,
            lacks=self.provider.lacks(body),
        )


def client_of(provider: Provider, access: Access) -> ModelClient:
    """A client for one endpoint; raises ``ProviderError`` (refused_host) if requests to its host aren't allowed."""
    return provider.own_client(access) or Client(provider, access)


def json_object(response: httpx2.Response) -> JSON:
    """The JSON object in a response; raises ``ProviderError`` (invalid_reply)."""
    try:
        # NaN and Infinity aren't valid JSON, but some servers send them; Postgres accepts them only as text.
        raw = json.loads(response.content, parse_constant=str)
    except RecursionError:
        raise _unreadable(response, "the reply's JSON is nested too deeply") from None
    except ValueError:
        raise _unreadable(response, "the reply is not complete JSON") from None
    if not isinstance(raw, dict):
        raise _unreadable(response, "the reply is not a JSON object")
    return raw


def _unreadable(response: httpx2.Response, reason: str) -> ProviderError:
    """The error for a reply that was received and may have to be paid for, with the beginning of what was received."""
    text = response.content[:KEPT_BYTES].decode("utf-8", "replace")
    reply = ChatReply(text="", raw={"not_json": text}) if text.strip() else None
    start = " ".join(text[:200].split())
    return ProviderError(
        "invalid_reply", f"{reason}: {start}" if start else "the reply is empty", reply=reply
    )


def transport_error(error: Exception) -> ProviderError:
    """A failure of the connection, or of our own code, with its kind."""
    for cause in (error, error.__cause__):
        if isinstance(cause, HostRefused):
            return ProviderError("refused_host", str(cause))
        if isinstance(cause, transport.ReplyTooLarge):
            return ProviderError("too_large", str(cause))
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            return ProviderError("unreachable", f"No connection: {cause}.{_tls_advice(cause)}"[:500])
    if isinstance(error, httpx2.TimeoutException):
        return ProviderError("timeout", "No reply in time.")
    if isinstance(error, httpx2.HTTPError):
        return ProviderError("connection", f"The connection failed: {error}"[:500])
    return ProviderError("unexpected", f"{type(error).__name__}: {error}"[:500])


def _tls_advice(error: BaseException) -> str:
    """What to do if no connection was made because of TLS."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                " The server's certificate is not signed by an authority that this installation trusts. Use a valid "
                "certificate, or ask the operator to add the authority (SSL_CERT_FILE)."
            )
        if isinstance(cause, ssl.SSLError | HandshakeTimeout):
            return " The server doesn't seem to use TLS on this port. Must the base URL start with http:// instead?"
        cause = cause.__cause__
    return ""


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """The seconds after which the provider wants to be asked again, up to an hour; None if it doesn't say. It may give a date."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return seconds if 0 <= seconds <= 3600 else None
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    if until.tzinfo is None:  # RFC 9110: always GMT
        until = until.replace(tzinfo=UTC)
    return min(max((until - datetime.now(UTC)).total_seconds(), 0.0), 3600.0)
