"""Requests to a panel's API: token, time limits, retries of what may be repeated, and errors in words."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2

from annotator.core.tls import tls_context
from annotator.recruitment.api import PanelApiError

log = logging.getLogger(__name__)

#: Seconds: to connect, and between two pieces of a reply.
TIMEOUT = httpx2.Timeout(15, connect=5)
#: How often a request that may be repeated is sent, and the most seconds that all its waits take together.
ATTEMPTS, LONGEST_WAIT = 3, 12.0
#: Methods that do the same when they are sent twice.
IDEMPOTENT = frozenset({"GET", "PATCH", "PUT", "DELETE"})
LARGEST = 30_000_000
#: Longer texts of a panel's error aren't shown.
LONGEST_WORDS = 600


@dataclass(frozen=True)
class PanelReply:
    """The JSON of a successful reply, and its headers."""

    content: Any
    headers: Mapping[str, str]


@dataclass(frozen=True)
class _Failed:
    """An attempt that failed, whether the request may be sent again, and after how many seconds, if the reply says that."""

    error: PanelApiError
    again: bool
    wait: float | None = None


@dataclass
class ApiRequests:
    """Sends JSON to one API. ``title`` names the panel in messages; ``sleep`` waits (tests replace it).

    The token is sent in ``Authorization`` and is never part of a message, a log line or ``repr``.
    """

    base: str
    title: str
    token: str = field(repr=False)
    scheme: str = "Token"
    sleep: Callable[[float], None] = time.sleep

    def send(
        self,
        method: str,
        path: str,
        *,
        content: Any = None,
        query: Mapping[str, Any] | None = None,
        repeatable: bool | None = None,
    ) -> PanelReply:
        """Send one request and return the reply. ``repeatable`` says whether it may be sent again after a 5xx or without a reply;
        by default as its method. A 429 hasn't been carried out, so every request is sent again after one.

        Raises ``PanelApiError``; its ``uncertain`` is set if the request may have been carried out.
        """
        again = method in IDEMPOTENT if repeatable is None else repeatable
        waited = 0.0
        for attempt in range(1, ATTEMPTS + 1):
            outcome = self._attempt(method, path, content, query, again=again)
            if isinstance(outcome, PanelReply):
                return outcome
            wait = 0.5 * 2 ** (attempt - 1) if outcome.wait is None else outcome.wait
            if not outcome.again or attempt == ATTEMPTS or waited + wait > LONGEST_WAIT:
                raise outcome.error
            log.info("%s %s is sent again in %.1f s: %s", method, path, wait, outcome.error)
            self.sleep(wait)
            waited += wait
        raise AssertionError("unreachable")

    def _attempt(
        self, method: str, path: str, content: Any, query: Mapping[str, Any] | None, *, again: bool
    ) -> PanelReply | _Failed:
        try:
            reply = self._once(method, path, content, query)
        except httpx2.TransportError as error:
            unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            return _Failed(self._unreachable(error, uncertain=not (again or unsent)), again or unsent)
        status = reply.status_code
        if status < 300:
            return PanelReply(self._json(reply), reply.headers)
        wait = retry_after(reply.headers.get("Retry-After", ""), now=datetime.now(UTC))
        refused = self._refused(reply, wait, uncertain=status >= 500 and not again)
        return _Failed(refused, status == 429 or (status >= 500 and again), wait)

    def _once(self, method: str, path: str, content: Any, query: Mapping[str, Any] | None) -> httpx2.Response:
        where = urlsplit(self.base)
        if where.scheme != "https" and where.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise PanelApiError(f"The address of {self.title}'s API must begin with https://.")
        headers = {"Authorization": f"{self.scheme} {self.token}", "Accept": "application/json"}
        body = None if content is None else json.dumps(content).encode()
        if body is not None:
            headers["Content-Type"] = "application/json"
        with httpx2.Client(timeout=TIMEOUT, follow_redirects=False, verify=tls_context()) as client:
            return client.request(
                method, self.base.rstrip("/") + path, content=body, params=dict(query or {}), headers=headers
            )

    def _json(self, reply: httpx2.Response) -> Any:
        if reply.status_code == 204 or not reply.content:
            return {}
        if reply.status_code >= 300 or len(reply.content) > LARGEST:
            raise PanelApiError(f"{self.title}'s reply can't be read.", status=reply.status_code)
        try:
            return json.loads(reply.content)
        except (ValueError, RecursionError):
            raise PanelApiError(
                f"{self.title}'s reply isn't JSON.", status=reply.status_code, uncertain=True
            ) from None

    def _unreachable(self, error: httpx2.TransportError, *, uncertain: bool) -> PanelApiError:
        late = isinstance(error, httpx2.TimeoutException)
        what = f"{self.title} didn't respond in time" if late else f"{self.title} can't be reached"
        after = (
            " It may have been carried out: compare both sides before you repeat it."
            if uncertain
            else " Try again in a few minutes."
        )
        return PanelApiError(f"{what}.{after}", uncertain=uncertain)

    def _refused(self, reply: httpx2.Response, wait: float | None, *, uncertain: bool) -> PanelApiError:
        status = reply.status_code
        said = self._without_token(problem_words(reply.content))
        if status in (401, 403):
            words = f"{self.title} doesn't accept the token. Create a new one there, and connect again."
        elif status == 404:
            words = f"{self.title} doesn't have this (404). It may have been deleted there, or belongs to another workspace."
        elif status == 429:
            when = f"in {wait:.0f} seconds" if wait else "in a few minutes"
            words = f"{self.title} limits how many requests we may send. Try again {when}."
        elif status >= 500:
            words = f"{self.title} has a problem of its own ({status}). Try again in a few minutes."
        elif 300 <= status < 400:
            words = f"{self.title} answered with another address ({status}), which isn't followed."
        else:
            words = f"{self.title} refused it: {said or f'status {status}'}"
        if said and status in (401, 403, 404):
            words += f" It says: {said}"
        if uncertain:
            words += " It may have been carried out: compare both sides before you repeat it."
        return PanelApiError(words, status=status, uncertain=uncertain)

    def _without_token(self, text: str) -> str:
        return text.replace(self.token, "…") if self.token else text


def retry_after(text: str, *, now: datetime) -> float | None:
    """The seconds of a ``Retry-After`` header, which may also name a date; None if it has neither.

    >>> retry_after("7", now=datetime(2026, 1, 1, tzinfo=UTC))
    7.0
    >>> retry_after("Thu, 01 Jan 2026 00:00:30 GMT", now=datetime(2026, 1, 1, tzinfo=UTC))
    30.0
    >>> retry_after("soon", now=datetime(2026, 1, 1, tzinfo=UTC))
    """
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) < 7:
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return max(0.0, (at - now).total_seconds()) if at.tzinfo else None


def problem_words(body: bytes) -> str:
    """What a problem's body says, in one line: its title and detail, by field where it names fields.

    >>> problem_words(b'{"error": {"status": 400, "error_code": 1, "title": "Validation", "detail": {"reward": ["Too low."]}}}')
    'reward: Too low.'
    >>> problem_words(b'{"error": {"status": 400, "error_code": 1, "title": "Low balance", "detail": "Add money."}}')
    'Low balance: Add money.'
    >>> problem_words(b"<html>")
    ''
    """
    try:
        content = json.loads(body[:100_000])
    except (ValueError, RecursionError):
        return ""
    error = content.get("error", content) if isinstance(content, dict) else content
    if isinstance(error, str):
        return _line(error)
    if not isinstance(error, dict):
        return ""
    title, detail = error.get("title"), error.get("detail")
    if isinstance(detail, dict):
        return _line("; ".join(f"{name}: {_said(value)}" for name, value in detail.items()))
    said = _said(detail)
    if isinstance(title, str) and title and said and title.rstrip(".") != said.rstrip("."):
        return _line(f"{title}: {said}")
    return _line(said or (title if isinstance(title, str) else ""))


def _said(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_said, value))
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_said(one)}" for name, one in value.items())
    return str(value) if isinstance(value, str | int | float) else ""


def _line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= LONGEST_WORDS else line[:LONGEST_WORDS] + "…"
