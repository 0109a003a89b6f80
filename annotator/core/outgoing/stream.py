"""A network connection on asyncio's own transports, as httpcore expects a stream.

httpcore's default stream goes through anyio, which costs about twice the processor time per call; see
``benchmarks/llm``. This one uses only public parts of asyncio and httpcore.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import Any

import httpcore2

#: How many received bytes can wait to be read before the sender is slowed down.
MAX_WAITING = 256 * 1024


class HandshakeTimeout(httpcore2.ConnectTimeout):
    """The server accepted the connection, but didn't complete the TLS handshake."""


class Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """One TCP or TLS connection. ``loop.create_connection(Stream, ...)`` makes it.

    Timeouts are in seconds; None means no limit. Raises httpcore's exceptions.
    """

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.received = bytearray()
        self.ended = False
        self.error: Exception | None = None
        self.paused = False
        #: Set while there is something to read: bytes, the end, or an error.
        self.readable = asyncio.Event()
        #: Set while the transport accepts more bytes to send.
        self.writable = asyncio.Event()
        self.writable.set()

    # -- asyncio calls these ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - create_connection makes no other kind
        self.transport = transport
        with contextlib.suppress(OSError):  # a Unix socket has no such option
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.readable.set()
        if len(self.received) > MAX_WAITING and not self.paused and self.transport is not None:
            self.transport.pause_reading()
            self.paused = True

    def eof_received(self) -> bool:
        self.ended = True
        self.readable.set()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.ended = True
        self.error = error
        self.readable.set()
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    # -- httpcore calls these -----------------------------------------------------------------------

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                await self.readable.wait()
        except TimeoutError as error:
            raise httpcore2.ReadTimeout("no reply in time") from error
        if self.received:
            part = bytes(self.received[:max_bytes])
            del self.received[:max_bytes]
            if not self.received and not self.ended:
                self.readable.clear()
            if self.paused and not self.received and self.transport is not None:
                self.paused = False
                self.transport.resume_reading()
            return part
        if self.error is not None:
            raise httpcore2.ReadError(str(self.error)) from self.error
        return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        if self.transport is None or self.transport.is_closing():
            raise httpcore2.WriteError("the connection is closed")
        self.transport.write(buffer)
        try:
            async with asyncio.timeout(timeout):
                await self.writable.wait()
        except TimeoutError as error:
            raise httpcore2.WriteTimeout("the request could not be sent in time") from error
        if self.error is not None:
            raise httpcore2.WriteError(str(self.error)) from self.error

    async def aclose(self) -> None:
        if self.transport is not None:
            self.transport.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        if self.transport is None:
            raise httpcore2.ConnectError("the connection is closed")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                self.transport = await loop.start_tls(
                    self.transport, self, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError as error:
            await self.aclose()
            raise HandshakeTimeout("no TLS connection in time") from error
        except OSError as error:  # ssl.SSLError and a closed connection are of this kind
            await self.aclose()
            raise httpcore2.ConnectError(str(error)) from error
        if self.transport is None:  # closed by the other side during the handshake
            raise httpcore2.ConnectError("the connection was closed during the TLS handshake")
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # on an idle connection: the server has closed it, or sent unrequested data
            return self.readable.is_set() or self.transport is None or self.transport.is_closing()
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return self.transport and self.transport.get_extra_info(names.get(info, info))
