"""The smallest HTTP/1.1 server that the scripted provider needs, on asyncio alone.

One ``Connection`` per client; the requests of a connection are answered in turn. Bodies must have a length.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

MAX_BODY = 64 * 1024 * 1024
#: Bytes of a streamed body that may wait for a slow client.
MAX_UNSENT = 1024 * 1024


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    """``keep``: send that many bytes of the body, then cut the connection. ``stream``: send its parts as they come,
    without a length, then close.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    keep: int | None = None
    stream: AsyncIterator[bytes] | None = None


def json_response(content: Any, status: int = 200, **headers: str) -> Response:
    return Response(status, json.dumps(content).encode(), {"content-type": "application/json"} | headers)


Handler = Callable[[Request], Awaitable[Response]]


class Connection(asyncio.Protocol):
    def __init__(self, handler: Handler, tasks: set[asyncio.Task[None]]):
        self.handler = handler
        self.tasks = tasks
        self.buffer = bytearray()
        self.head: tuple[str, str, str, dict[str, str]] | None = None
        self.length = 0
        self.busy = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self._next()

    def _next(self) -> None:
        if self.busy or self.transport is None:
            return
        if self.head is None:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            lines = self.buffer[:end].decode("latin-1").split("\r\n")
            del self.buffer[: end + 4]
            try:
                method, target, _ = lines[0].split(" ", 2)
                headers = {
                    name.strip().lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in lines[1:])
                }
                self.length = int(headers.get("content-length", "0"))
            except ValueError:
                self.transport.close()
                return
            if self.length > MAX_BODY or "transfer-encoding" in headers:
                self._write(json_response({"error": {"message": "send a body with its length"}}, 411))
                self.transport.close()
                return
            path, _, query = target.partition("?")
            self.head = (method, path, query, headers)
        if len(self.buffer) < self.length:
            return
        request = Request(*self.head, body=bytes(self.buffer[: self.length]))
        del self.buffer[: self.length]
        self.head = None
        self.busy = True
        task = asyncio.ensure_future(self._answer(request))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, request: Request) -> None:
        try:
            response = await self.handler(request)
        except Exception as error:  # an error in one request must not end the server
            response = json_response({"error": {"message": repr(error), "type": "server_error"}}, 500)
        if response.stream is not None:
            await self._stream(response)
            return
        self._write(response)
        self.busy = False
        if response.keep is not None and self.transport is not None:
            self.transport.close()
        self._next()

    async def _stream(self, response: Response) -> None:
        if self.transport is None or response.stream is None:
            return
        self.transport.write(_head(response) + b"connection: close\r\n\r\n")
        async for part in response.stream:
            if self.transport is None:  # the client has closed the connection
                return
            self.transport.write(part)
            while self.transport is not None and self.transport.get_write_buffer_size() > MAX_UNSENT:
                await asyncio.sleep(0.01)
        if self.transport is not None:
            self.transport.close()

    def _write(self, response: Response) -> None:
        if self.transport is None:
            return
        body = response.body if response.keep is None else response.body[: response.keep]
        length = f"content-length: {len(response.body)}\r\n\r\n"
        self.transport.write(_head(response) + length.encode() + body)


def _head(response: Response) -> bytes:
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:  # 529 and the like
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {response.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    return "\r\n".join([*lines, ""]).encode("latin-1")


async def serve(handler: Handler, host: str, port: int) -> asyncio.Server:
    """Listen; with port 0, on a free port."""
    tasks: set[asyncio.Task[None]] = set()
    return await asyncio.get_running_loop().create_server(
        lambda: Connection(handler, tasks), host, port, backlog=1024
    )
