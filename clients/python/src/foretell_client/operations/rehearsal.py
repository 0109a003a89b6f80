"""Operations on rehearsal. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import TypedDict, Unpack

from foretell_client.transport import Transport, part


class Rehearsal(TypedDict):
    state: str
    error: str
    places: int
    done: int


class RehearsalCleared(TypedDict):
    judgments: int


class RehearsalStart(TypedDict, total=False):
    raters: int
    accuracy: float
    seed: int


class RehearsalOperations:
    """Operations on rehearsal."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, slug: str, /) -> Rehearsal:
        """Its progress."""
        reply: Rehearsal = self._http.json("GET", f"studies/{part(slug)}/rehearsal/")
        return reply

    def create(self, slug: str, /, **sent: Unpack[RehearsalStart]) -> Rehearsal:
        """Start it; a worker carries it out. Needs the role of an editor."""
        reply: Rehearsal = self._http.json("POST", f"studies/{part(slug)}/rehearsal/", body=sent)
        return reply

    def delete(self, slug: str, /) -> RehearsalCleared:
        """Remove its judgments and raters. Needs the role of an editor."""
        reply: RehearsalCleared = self._http.json("DELETE", f"studies/{part(slug)}/rehearsal/")
        return reply

    def stop(self, slug: str, /) -> Rehearsal:
        """Its judgments stay until it is cleared. Needs the role of an editor."""
        reply: Rehearsal = self._http.json("POST", f"studies/{part(slug)}/rehearsal/stop/")
        return reply
