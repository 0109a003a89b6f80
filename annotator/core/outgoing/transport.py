"""The HTTP transport: connects only to the checked address, keeps connections open, and never follows redirects or uses
a proxy."""

from __future__ import annotations

import asyncio
import logging
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpcore2
import httpx2

from annotator.core.outgoing.hosts import HostPolicy, HostRefused, Origin, resolve
from annotator.core.outgoing.stream import Stream

#: httpx would log a line for each of a hundred thousand requests.
logging.getLogger("httpx2").setLevel(logging.WARNING)

KEEP_SECONDS = 30.0
#: The extension of a request with the largest reply in bytes, after decompression.
MOST_BYTES = "most_bytes"


class ReplyTooLarge(httpx2.RemoteProtocolError):
    """The reply exceeded its limit and the rest of it wasn't read."""


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to one origin, each to an address that has just been checked."""

    def __init__(self, origin: Origin, policy: HostPolicy) -> None:
        self.origin = origin
        self.policy = policy

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await resolve(self.origin, self.policy)
        except OSError as unknown:
            raise httpcore2.ConnectError(f"{self.origin.host}: {unknown}") from unknown
        loop = asyncio.get_running_loop()
        error: Exception = httpcore2.ConnectError(f"{self.origin.host} has no address")
        for address in addresses:
            try:
                async with asyncio.timeout(timeout):
                    _, stream = await loop.create_connection(Stream, address, self.origin.port)
            except TimeoutError:
                error = httpcore2.ConnectTimeout(f"{self.origin.host} did not respond")
            except OSError as failed:
                error = httpcore2.ConnectError(f"{self.origin.host}: {failed}")
            else:
                return stream
        raise error

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        raise HostRefused("Unix sockets cannot be used")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Body(httpx2.AsyncByteStream):
    """The body of a reply, decompressed up to a limit. When it is closed, its connection can be used again."""

    def __init__(
        self,
        transport: CheckedTransport,
        connection: httpcore2.AsyncHTTPConnection,
        stream: Any,
        *,
        limit: int,
        encoding: str,
    ) -> None:
        self.transport = transport
        self.connection = connection
        self.stream = stream
        self.limit = limit
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise httpx2.RemoteProtocolError(f"the reply is encoded as {encoding!r}; only gzip was accepted")
        # 32: zlib itself recognises zlib and gzip headers.
        self.decoder = zlib.decompressobj(zlib.MAX_WBITS + 32) if encoding not in ("", "identity") else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        with _mapped():
            async for part in self.stream:
                decoded = self._decode(part, self.limit - size + 1)
                size += len(decoded)
                if size > self.limit:
                    raise ReplyTooLarge(f"the reply is larger than {self.limit // 2**20} MiB")
                yield decoded

    def _decode(self, part: bytes, most: int) -> bytes:
        """Decompress at most ``most`` bytes, so that a small reply can't expand to a large one."""
        if self.decoder is None:
            return part
        try:
            decoded = self.decoder.decompress(part, most)
            # A gzip file can have several members, one after the other.
            while self.decoder.eof and self.decoder.unused_data and len(decoded) < most:
                unread = self.decoder.unused_data
                self.decoder = zlib.decompressobj(zlib.MAX_WBITS + 32)
                decoded += self.decoder.decompress(unread, most - len(decoded))
            return decoded
        except zlib.error as error:
            raise httpx2.RemoteProtocolError(f"the reply cannot be decompressed: {error}") from error

    async def aclose(self) -> None:
        with _mapped():
            await self.stream.aclose()
        await self.transport.give_back(self.connection)


class CheckedTransport(httpx2.AsyncBaseTransport):
    """A transport to one origin. A stack of idle connections makes taking one independent of how many there are."""

    def __init__(self, origin: Origin, policy: HostPolicy, context: ssl.SSLContext | None) -> None:
        self.origin = origin
        self.backend = CheckedBackend(origin, policy)
        self.core_origin = httpcore2.Origin(origin.scheme.encode(), origin.host.encode(), origin.port)
        self.context = context
        self.idle: list[httpcore2.AsyncHTTPConnection] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        if url.origin != self.core_origin:
            raise HostRefused(f"{request.url.host} is not the host that was checked")
        connection = await self._take()
        try:
            with _mapped():
                response = await connection.handle_async_request(
                    httpcore2.Request(
                        method=request.method,
                        url=url,
                        headers=request.headers.raw,
                        content=request.stream,
                        extensions=request.extensions,
                    )
                )
        except BaseException:
            await connection.aclose()
            raise
        headers = httpx2.Headers(response.headers)
        try:
            body = _Body(
                self,
                connection,
                response.stream,
                limit=request.extensions[MOST_BYTES],
                encoding=headers.pop("content-encoding", "").strip().lower(),
            )
        except BaseException:
            await connection.aclose()
            raise
        return httpx2.Response(
            status_code=response.status, headers=headers, stream=body, extensions=response.extensions
        )

    async def _take(self) -> httpcore2.AsyncHTTPConnection:
        while self.idle:
            connection = self.idle.pop()
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return httpcore2.AsyncHTTPConnection(
            origin=self.core_origin,
            ssl_context=self.context,
            keepalive_expiry=KEEP_SECONDS,
            network_backend=self.backend,
        )

    async def give_back(self, connection: httpcore2.AsyncHTTPConnection) -> None:
        if connection.is_idle() and not connection.is_closed():
            self.idle.append(connection)
        else:
            await connection.aclose()

    async def aclose(self) -> None:
        while self.idle:
            await self.idle.pop().aclose()


class _mapped:
    """Convert httpcore's errors to httpx's, which the client expects."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None or not isinstance(error, tuple(_ERRORS)):
            return
        for core, outer in _ERRORS.items():
            if isinstance(error, core):
                raise outer(str(error)) from error


#: From the most specific to the least.
_ERRORS: dict[type[Exception], type[httpx2.HTTPError]] = {
    httpcore2.ConnectTimeout: httpx2.ConnectTimeout,
    httpcore2.ReadTimeout: httpx2.ReadTimeout,
    httpcore2.WriteTimeout: httpx2.WriteTimeout,
    httpcore2.TimeoutException: httpx2.ReadTimeout,
    httpcore2.ConnectError: httpx2.ConnectError,
    httpcore2.ReadError: httpx2.ReadError,
    httpcore2.WriteError: httpx2.WriteError,
    httpcore2.NetworkError: httpx2.NetworkError,
    httpcore2.ProtocolError: httpx2.RemoteProtocolError,
}


def timeouts(seconds: float) -> httpx2.Timeout:
    """Timeouts of the parts of a request that may take ``seconds`` in total. Connecting times out well before that, so
    that an unreachable server is recognised as such.
    """
    return httpx2.Timeout(seconds, connect=min(0.8 * seconds, 10.0))


def client(
    origin: Origin, policy: HostPolicy, *, timeout: float, context: ssl.SSLContext | None
) -> httpx2.AsyncClient:
    """An HTTP client that can reach this origin only. ``context`` checks its certificate; http has none."""
    return httpx2.AsyncClient(
        transport=CheckedTransport(origin, policy, context),
        follow_redirects=False,
        trust_env=False,
        headers={"accept-encoding": "gzip"},
        timeout=timeouts(timeout),
    )
