"""Errors that services raise when they refuse a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Trouble:
    """A page that says what happened, what it means for the pay and what to do now. Texts may be lazy translations."""

    title: Any
    happened: Any
    pay: Any
    now: Any
    status: int = 200


class Refused(Exception):
    """A rule forbids the request. ``kind`` chooses the error page; the message says what happened.

    Kinds: not_found, login (nobody is logged in), paused, closed, not_qualified, lease_expired, already_done, removed, left,
    not_now (a step was skipped), full, no_places (all are taken), consent (the text has changed), elsewhere (a task is open in another study,
    whose ``slug`` is given), too_many and wait (a limit that ends by itself), and those of the recruitment
    panel named ``panel`` (``Panel.troubles``): panel_needed, panel_link, panel_known, panel_account, panel_down and panel_ended.
    """

    def __init__(self, kind: str, message: str, *, slug: str = "", panel: str = ""):
        self.kind, self.slug, self.panel = kind, slug, panel
        super().__init__(message)


class ConsentOutdated(Refused):
    """An answer came after the consent text had changed. ``answer`` isn't lost: it's kept as the task's draft."""

    def __init__(self, message: str, *, answer: dict[str, Any]):
        self.answer = answer
        super().__init__("consent", message)


class Conflict(Exception):
    """The request contradicts an earlier one: a different answer, or a draft based on another version."""


class DraftConflict(Conflict):
    """Another tab saved first: its ``version`` and ``draft``; ``closed`` if it has already submitted the step."""

    def __init__(
        self, message: str, *, version: int = 0, draft: dict[str, Any] | None = None, closed: bool = False
    ):
        self.version, self.draft, self.closed = version, draft or {}, closed
        super().__init__(message)
