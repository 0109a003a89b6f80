"""What the clients of all protocols share: JSON over HTTP to one checked origin, and failures by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from evaluation.providers import transport
from evaluation.providers.base import ErrorKind, ProviderError
from evaluation.providers.hosts import HostPolicy, HostRefused, check_origin, origin_of
from evaluation.providers.replies import MISFIT, json_object, retry_after_of, transport_error

#: From the body of an error: its message, and the kind if the vendor's message says more than the status.
ReadError = Callable[[int, dict[str, Any]], tuple[str, ErrorKind | None]]
KINDS: Mapping[int, ErrorKind] = {
    400: "bad_request",
    401: "unauthorized",
    402: "no_quota",
    403: "unauthorized",
    404: "not_found",
    408: "timeout",
    409: "server",
    413: "bad_request",
    422: "bad_request",
    425: "server",
    429: "rate_limit",
}


@dataclass(frozen=True)
class Access:
    """How an endpoint is reached. ``timeout`` is in seconds for a whole call; ``certificates`` are PEM authorities."""

    base_url: str
    key: str
    policy: HostPolicy
    timeout: float
    headers: Mapping[str, str] = field(default_factory=dict)
    api_version: str = ""
    certificates: str = ""

    def client(self) -> httpx2.AsyncClient:
        """An HTTP client for the endpoint; raises ``ProviderError`` (refused_host) if requests to the host aren't allowed."""
        try:
            origin = origin_of(self.base_url)
            check_origin(origin, self.policy)
        except HostRefused as error:
            raise ProviderError("refused_host", str(error)) from None
        return transport.client(origin, self.policy, timeout=self.timeout, certificates=self.certificates)


def kind_of_status(status: int) -> ErrorKind:
    """What a status means if nothing else is known."""
    return KINDS.get(status, "server" if status >= 500 else "bad_request")


class RestClient:
    """Requests with JSON bodies to one endpoint. ``headers`` are the vendor's own, the key among them."""

    def __init__(self, access: Access, *, headers: Mapping[str, str], read_error: ReadError) -> None:
        self.access = access
        self.http = access.client()
        self.headers = httpx2.Headers({**self.http.headers, **access.headers, **headers})
        self.extensions = {"timeout": transport.timeouts(access.timeout).as_dict()}
        self.urls: dict[str, httpx2.URL] = {}
        self.read_error = read_error

    async def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object of the reply; raises ``ProviderError``. ``path`` begins with a slash."""
        # What is the same for each request is prepared once: it takes longer than sending the request.
        request = httpx2.Request(
            method, self._url(path), json=body, headers=self.headers, extensions=self.extensions
        )
        try:
            # The client's own timeout starts again with each byte received.
            async with asyncio.timeout(self.access.timeout):
                response = await self.http.send(request)
        except TimeoutError as error:
            message = f"The reply was not complete after {self.access.timeout:g} s."
            raise ProviderError("timeout", message) from error
        except Exception as error:
            raise transport_error(error) from error
        if response.status_code >= 400:
            raise self._error(response)
        return json_object(response)

    async def aclose(self) -> None:
        await self.http.aclose()

    def _url(self, path: str) -> httpx2.URL:
        if path not in self.urls:
            url = httpx2.URL(self.access.base_url.rstrip("/") + path)
            if self.access.api_version:
                url = url.copy_merge_params({"api-version": self.access.api_version})
            self.urls[path] = url
        return self.urls[path]

    def _error(self, response: httpx2.Response) -> ProviderError:
        status = response.status_code
        try:
            found = json_object(response)
        except ProviderError:
            found = {"message": response.text[:300]}
        message, kind = self.read_error(status, found)
        said = message or response.text[:300]
        if status >= 500 and MISFIT.search(said):
            kind = "invalid_reply"
        return ProviderError(
            kind or kind_of_status(status),
            f"HTTP {status}: {said}"[:500],
            retry_after=retry_after_of(response),
            status=status,
        )
