"""What the client raises. The token is in none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


class ForetellError(Exception):
    """Anything that the client raises."""


class Unreachable(ForetellError):
    """No reply came: the server isn't there, or took too long."""


@dataclass(frozen=True)
class Fault:
    """One problem of a file: where it is, what is there, and what was expected. ``line`` is None where it concerns no line."""

    file: str
    line: int | None
    field: str
    value: str
    expected: str

    def __str__(self) -> str:
        where = ", ".join(
            part for part in (self.file, f"line {self.line}" if self.line else "", self.field) if part
        )
        found = f": found {self.value!r}," if self.value else ":"
        return f"{where}{found} {self.expected}"


class ApiError(ForetellError):
    """The API refused a request: its problem details (RFC 9457).

    ``status`` is the code, ``title`` its name, ``type`` the kind of problem (``about:blank``: just the code), ``detail`` what
    is wrong in this case, ``errors`` the messages by field, and ``faults`` the first problems of a file, of ``total``.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.type = str(problem.get("type") or "about:blank")
        self.title = str(problem.get("title") or phrase(status))
        self.detail = str(problem.get("detail") or "")
        self.errors: dict[str, list[str]] = {
            str(name): [str(one) for one in (found if isinstance(found, list) else [found])]
            for name, found in (problem.get("errors") or {}).items()
        }
        self.faults = [
            Fault(
                file=str(one.get("file", "")),
                line=one.get("line"),
                field=str(one.get("field", "")),
                value=str(one.get("value", "")),
                expected=str(one.get("expected", "")),
            )
            for one in problem.get("faults") or []
        ]
        self.total = int(problem.get("total") or len(self.faults))
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self.status} {self.title}" + (f": {self.detail}" if self.detail else "")]
        lines += [f"  {name}: {' '.join(found)}" for name, found in self.errors.items()]
        lines += [f"  {fault}" for fault in self.faults[:10]]
        if (more := self.total - min(len(self.faults), 10)) > 0:
            lines.append(f"  and {more} more")
        return "\n".join(lines)


class BadRequest(ApiError):
    """400: a field or a file is wrong; nothing was changed."""


class NotAllowed(ApiError):
    """401 or 403: the token is wrong or has ended, or may not do this. ``detail`` names the missing scope."""


class NotFound(ApiError):
    """404: it isn't there, or you have no access to it."""


class NotPossibleNow(ApiError):
    """409: not possible in the current state."""


class Busy(ApiError):
    """429 or 503: too many requests, or the server is unavailable. ``retry_after`` is in seconds, None if it didn't say."""

    retry_after: float | None = None


class JobStopped(ForetellError):
    """A job ended or paused before it was done; ``state`` and ``reason`` are its own."""

    def __init__(self, what: str, state: str, reason: str) -> None:
        self.what, self.state, self.reason = what, state, reason
        super().__init__(f"{what} is {state}" + (f": {reason}" if reason else ""))


#: Code -> what is raised; any other is an ``ApiError``.
BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: NotPossibleNow,
    429: Busy,
    503: Busy,
}


def api_error(status: int, problem: Mapping[str, Any], *, retry_after: float | None = None) -> ApiError:
    """The exception for a reply with this code and body.

    >>> print(api_error(400, {"errors": {"slug": ["is taken"]}}))
    400 Bad Request
      slug: is taken
    """
    error = BY_STATUS.get(status, ApiError)(status, problem)
    if isinstance(error, Busy):
        error.retry_after = retry_after
    return error


def phrase(status: int) -> str:
    """The name of a code; empty for one that has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
