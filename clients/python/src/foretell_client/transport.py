"""Requests to the API: the token, retries, errors, pages, files."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO, Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

import httpx2 as httpx

from foretell_client.errors import Unreachable, api_error

#: A file to send: its name, and its content or an open file.
File: TypeAlias = tuple[str, bytes | IO[bytes]]
Query: TypeAlias = Mapping[str, str | int | float | bool | None]
#: Requests that may be sent twice: the second changes nothing.
IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})
#: Replies after which such a request is sent again.
RETRIED = frozenset({429, 503})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def part(text: str) -> str:
    """A text as one part of an address.

    >>> part("a/b")
    'a%2Fb'
    """
    return quote(text, safe="")


class Token(httpx.Auth):
    """Adds the token to each request. Its text is nowhere else."""

    def __init__(self, token: str) -> None:
        self._header = f"Token {token}"

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        request.headers["Authorization"] = self._header
        yield request

    def __repr__(self) -> str:
        return "Token(hidden)"


class Transport:
    """Sends requests below ``url``/api/v1/, and returns what the replies contain."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        attempts: int = 5,
        longest_wait: float = 60.0,
        allow_http: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address; expected one such as https://lab.example")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not allow_http:
            raise ValueError(f"{url} would send the token unencrypted: use https, or allow_http=True")
        if not token or not token.isascii() or not token.isprintable():
            raise ValueError("the token is empty, or has characters that no token has")
        self.url = url.rstrip("/")
        self._attempts, self._longest_wait, self._sleep = attempts, longest_wait, sleep
        self._client = httpx.Client(
            base_url=f"{self.url}/api/v1/",
            auth=Token(token),
            timeout=timeout,
            headers={"Accept": "application/json, */*;q=0.5", "User-Agent": "foretell-client"},
        )

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def json(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        form: Mapping[str, Any] | None = None,
        content: bytes | None = None,
    ) -> Any:
        """The JSON of a reply; None if it is empty. ``body`` is sent as JSON, ``form`` as a form with files."""
        more: dict[str, Any] = {}
        if form is not None:
            more = form_parts(form)
        elif content is not None:
            more = {"content": content, "headers": {"Content-Type": "application/octet-stream"}}
        elif body is not None:
            more = {"json": body}
        with self._reply(method, path, query, more) as reply:
            reply.read()
            return reply.json() if reply.content else None

    def nothing(self, method: str, path: str, **sent: Any) -> None:
        """Send a request whose reply is empty."""
        self.json(method, path, **sent)

    def pages(self, method: str, path: str, *, query: Query | None = None) -> Iterator[Any]:
        """The results of all pages, one after the other; each page is requested when its first result is."""
        while True:
            page = self.json(method, path, query=query)
            yield from page["results"]
            if not page.get("next"):
                return
            # Only its query: the server may know itself under another name than the one that this token is for.
            query = dict(parse_qsl(urlsplit(page["next"]).query))

    def download(self, method: str, path: str, *, query: Query | None = None) -> Download:
        """A file, which is requested when it is read."""
        return Download(lambda: self._reply(method, path, query, {}))

    @contextmanager
    def _reply(
        self, method: str, path: str, query: Query | None, more: Mapping[str, Any]
    ) -> Iterator[httpx.Response]:
        """A reply without an error, whose body hasn't been read."""
        asked = {name: plain(value) for name, value in (query or {}).items() if value is not None}
        try:
            reply = self._sent(method, path, asked, more)
            try:
                yield reply
            finally:
                reply.close()
        except httpx.TransportError as failure:
            reason = f"{type(failure).__name__}: {failure}"
            raise Unreachable(f"{self.url} did not reply ({reason})") from None

    def _sent(
        self, method: str, path: str, query: Mapping[str, Any], more: Mapping[str, Any]
    ) -> httpx.Response:
        """Send a request, again if that is safe and may help; the reply's body hasn't been read."""
        left = self._attempts if method in IDEMPOTENT else 1
        pause = 0.5
        while True:
            left -= 1
            wait: float | None = None
            try:
                request = self._client.build_request(method, path, params=query, **more)
                reply = self._client.send(request, stream=True)
                if reply.is_success:
                    return reply
                with closing(reply):
                    reply.read()
                wait = retry_after(reply.headers.get("Retry-After", ""))
                if not left or reply.status_code not in RETRIED or (wait or 0) > self._longest_wait:
                    raise api_error(reply.status_code, problem_of(reply), retry_after=wait)
            except httpx.TransportError:
                if not left:
                    raise
            self._sleep(pause if wait is None else wait)
            pause = min(2 * pause, self._longest_wait)


class Download:
    """A file of the API. ``save`` writes it, ``read`` returns it, and iterating gives its pieces."""

    def __init__(self, opened: Callable[[], Any]) -> None:
        self._opened = opened

    def __iter__(self) -> Iterator[bytes]:
        with self._opened() as reply:
            yield from reply.iter_bytes()

    def read(self) -> bytes:
        """The whole file."""
        return b"".join(self)

    def text(self) -> str:
        """The whole file as text."""
        return self.read().decode("utf-8")

    def rows(self) -> Iterator[Any]:
        """The objects of a file of JSON lines."""
        kept = b""
        for piece in self:
            *lines, kept = (kept + piece).split(b"\n")
            yield from (json.loads(line) for line in lines if line.strip())
        if kept.strip():
            yield json.loads(kept)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file. If it breaks off, what was there before is unchanged."""
        there = Path(path)
        begun = there.with_name(f"{there.name}.part")
        try:
            with begun.open("wb") as file:
                file.writelines(self)
            begun.replace(there)
        finally:
            begun.unlink(missing_ok=True)
        return there


def plain(value: str | int | float | bool) -> str | int | float:
    """A value of a query as the API reads it: ``true``, not ``True``."""
    return str(value).lower() if isinstance(value, bool) else value


def form_parts(form: Mapping[str, Any]) -> dict[str, Any]:
    """A form's values as httpx sends them: files apart, objects as JSON.

    >>> form_parts({"mapping": {"a": "b"}, "dry_run": True, "file": ("a.csv", b"x")})
    {'files': [('mapping', (None, '{"a": "b"}')), ('dry_run', (None, 'true')), ('file', ('a.csv', b'x'))]}
    """
    parts: list[tuple[str, Any]] = []
    for name, value in form.items():
        several = value if isinstance(value, list) and value and isinstance(value[0], tuple) else [value]
        for one in several:
            if isinstance(one, tuple):
                parts.append((name, one))
            elif one is not None:
                parts.append((name, (None, one if isinstance(one, str) else json.dumps(one))))
    return {"files": parts}


def retry_after(text: str) -> float | None:
    """The seconds of a ``Retry-After`` header, which has seconds or a date; None without a valid one.

    >>> retry_after("3"), retry_after("soon")
    (3.0, None)
    """
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def problem_of(reply: httpx.Response) -> Mapping[str, Any]:
    """The problem that a reply describes; without JSON, the start of its text."""
    try:
        found = reply.json()
    except ValueError:
        kind = reply.headers.get("Content-Type", "")
        return {"detail": reply.text[:300] if kind.startswith("text/plain") else ""}
    return found if isinstance(found, dict) else {"detail": json.dumps(found)[:300]}
