"""Who a panel says that a visitor is, and why a link isn't believed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


class LinkRefused(ValueError):
    """A panel's link isn't believed. The message is for the log: it never contains the link. ``told`` is what the visitor reads
    about it; empty for the panel's usual words."""

    def __init__(self, message: str, *, told: StrOrPromise = "") -> None:
        self.told = told
        super().__init__(message)


class PanelUnavailable(Exception):
    """A link can't be checked at the moment, because the panel's keys can't be fetched."""


@dataclass(frozen=True)
class PanelIdentity:
    """A participant as their panel names them. ``person`` is their id there, ``submission`` the id of this attempt at the
    panel's study ``panel_study``.

    ``verified``: the panel has signed these ids. ``digest`` is then the SHA-256 of the signed token, which expires at
    ``expires_at``.
    """

    panel: str
    person: str
    submission: str
    panel_study: str
    verified: bool = False
    digest: str = ""
    expires_at: datetime | None = None
    #: The ids under the names that the panel gives them on its links.
    parameters: dict[str, str] = field(default_factory=dict)
