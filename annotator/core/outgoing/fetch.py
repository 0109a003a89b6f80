"""Files from other servers: public addresses only, within limits of size, time and redirects."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urljoin

import httpx2

from annotator.core.outgoing.hosts import HostPolicy, HostRefused, check_origin, origin_of
from annotator.core.outgoing.transport import MOST_BYTES, ReplyTooLarge, client
from annotator.core.tls import tls_context

#: How many files are fetched at the same time.
AT_ONCE = 6
MOST_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class NotFetched(ValueError):
    """The file couldn't be fetched; the message says why."""


@dataclass(frozen=True)
class FetchLimits:
    """``size``: the most bytes of a file. ``seconds``: for one file. ``all_seconds``: for all of them together."""

    size: int
    seconds: float
    all_seconds: float


def files_fetch(
    addresses: Sequence[str], *, to: Path, policy: HostPolicy, limits: FetchLimits, accept: str = "*/*"
) -> dict[str, Path | NotFetched]:
    """Fetch each address once, without cookies or credentials, into a file in the folder ``to``, or say why it wasn't.

    ``accept`` lists the media types to ask for; what arrives can be anything.
    """
    # In a thread of its own: the caller's may be running an event loop already.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(
            _in_loop, _Fetch(to, policy, limits, accept), list(dict.fromkeys(addresses))
        ).result()


def address_check(address: str, policy: HostPolicy) -> None:
    """Raise ``HostRefused`` for an address that can be refused without a look-up."""
    origin_of(address, query=True)
    try:
        written = str(httpx2.URL(address))
    except httpx2.InvalidURL as error:
        raise HostRefused(f"not an address: {error}") from None
    check_origin(origin_of(written, query=True), policy)


def _in_loop(fetch: _Fetch, addresses: list[str]) -> dict[str, Path | NotFetched]:
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(fetch.all(addresses))
    finally:
        # Unlike ``asyncio.run``, this doesn't wait for look-ups of names that take longer than the limit.
        loop.close()


@dataclass
class _Fetch:
    to: Path
    policy: HostPolicy
    limits: FetchLimits
    accept: str

    async def all(self, addresses: list[str]) -> dict[str, Path | NotFetched]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def in_turn(address: str, path: Path) -> Path:
            async with gate:
                await self._one(address, path)
            return path

        tasks = {one: asyncio.create_task(in_turn(one, self.to / str(n))) for n, one in enumerate(addresses)}
        _, late = await asyncio.wait(tasks.values(), timeout=self.limits.all_seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return {address: self._outcome(task) for address, task in tasks.items()}

    def _outcome(self, task: asyncio.Task[Path]) -> Path | NotFetched:
        if task.cancelled():
            return NotFetched(
                f"fetching the images of one import may take {self.limits.all_seconds:g} seconds here, and took longer"
            )
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, NotFetched):
            return error
        raise error

    async def _one(self, address: str, path: Path) -> None:
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._follow(address, path)
        except TimeoutError:
            raise NotFetched(
                f"the server didn't send the whole file within {self.limits.seconds:g} seconds"
            ) from None

    async def _follow(self, address: str, path: Path) -> None:
        policy, first = self.policy, address
        for _ in range(MOST_REDIRECTS + 1):
            try:
                following = await self._ask(address, path, policy)
            except NotFetched as error:
                if address == first:
                    raise
                raise NotFetched(f"it redirects to {address[:200]!r}: {error}") from None
            if following is None:
                return
            if not (policy.only or policy.names(origin_of(address, query=True))):
                # A public server must not lead us to a private one, even if the operator allows that one.
                policy = HostPolicy()
            address = following
        raise NotFetched(f"expected at most {MOST_REDIRECTS} redirects")

    async def _ask(self, address: str, path: Path, policy: HostPolicy) -> str | None:
        """Store the file, or return the address that the server redirects to."""
        try:
            # Written as it is sent: a host's name in the form that DNS has.
            url = httpx2.URL(address)
            origin = origin_of(str(url), query=True)
            context = tls_context() if origin.scheme == "https" else None
            async with (
                client(origin, policy, timeout=self.limits.seconds, context=context) as http,
                http.stream(
                    "GET",
                    url,
                    headers={"accept": self.accept, "user-agent": "Foretell"},
                    extensions={MOST_BYTES: self.limits.size},
                ) as reply,
            ):
                if reply.status_code in _REDIRECTS and "location" in reply.headers:
                    return urljoin(str(url), reply.headers["location"])
                if reply.status_code != HTTPStatus.OK:
                    raise NotFetched(f"the server answered {_status(reply.status_code)}")
                with path.open("wb") as file:
                    async for part in reply.aiter_bytes():
                        file.write(part)
                return None
        except NotFetched:
            raise
        except HostRefused as refused:
            raise NotFetched(str(refused)) from None
        except ReplyTooLarge:
            raise NotFetched(f"is too large; expected at most {self.limits.size / 1e6:g} MB") from None
        except httpx2.TimeoutException:
            raise NotFetched("the server didn't respond in time") from None
        except httpx2.TransportError as error:
            raise NotFetched(f"the server can't be reached: {str(error)[:200]}") from None
        except (httpx2.InvalidURL, ValueError) as error:  # a UnicodeError if the host's name can't be encoded
            raise NotFetched(f"is not an address that can be used: {str(error)[:200]}") from None


def _status(status: int) -> str:
    """
    >>> _status(404), _status(599)
    ('404 Not Found', '599')
    """
    words = {one.value: f"{one.value} {one.phrase}" for one in HTTPStatus}.get(status, str(status))
    return f"{words}; expected an address that anybody can open" if status in (401, 403) else words
