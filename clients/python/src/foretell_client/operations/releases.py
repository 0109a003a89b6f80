"""Operations on releases. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.transport import Download, Transport

ReleaseState = Literal["queued", "running", "review", "done", "failed"]
ReleaseTextDecision = Literal["pending", "approved", "removed"]
SmallGroups = Literal["coarsen", "drop", "keep"]
Timings = Literal["exact", "1", "10", "none"]


class Decisions(TypedDict, total=False):
    """Decisions by the id of each text: approved or removed."""

    decisions: Required[dict[str, Literal["approved", "removed"]]]


class NewRelease(TypedDict, total=False):
    """What the data card says, and which attributes of raters are released."""

    title: str
    description: str
    licence: str
    citation: str
    authors: str
    attributes: list[str]
    free_text: bool
    small_groups: SmallGroups
    smallest_group: int
    timings: Timings


class Release(TypedDict):
    """A release and what was found when it was built."""

    id: int
    report: int
    title: str
    description: str
    licence: str
    citation: str
    authors: str
    attributes: Any
    free_text: bool
    small_groups: SmallGroups
    smallest_group: int
    timings: Timings
    state: ReleaseState
    progress: str
    error: str
    findings: Any
    notices: list[str]
    bytes: int | None
    sha256: str
    signing_key: str
    workspace_key: str
    created_at: str
    started_at: str | None
    finished_at: str | None


class ReleaseCost(TypedDict, total=False):
    """The attributes that a release would have, and how they and times would be coarsened."""

    attributes: list[str]
    small_groups: SmallGroups
    smallest_group: int
    timings: Timings


class ReleaseText(TypedDict):
    """A free text that the release would contain, after screening."""

    id: int
    place: str
    text: str
    uses: int
    decision: ReleaseTextDecision
    decided_at: str | None


class ReleasesOperations:
    """Operations on releases."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, id: int, /) -> Release:
        """The state of the release."""
        reply: Release = self._http.json("GET", f"releases/{id}/")
        return reply

    def delete(self, id: int, /) -> None:
        """Delete the release with its file and its key."""
        self._http.nothing("DELETE", f"releases/{id}/")

    def download(self, id: int, /) -> Download:
        """The release as a ZIP archive; 404 until it is done."""
        return self._http.download("GET", f"releases/{id}/download/")

    def texts(self, id: int, /) -> list[ReleaseText]:
        """All texts that need a decision, undecided ones first (at most 1,000)."""
        reply: list[ReleaseText] = self._http.json("GET", f"releases/{id}/texts/")
        return reply

    def texts_create(self, id: int, /, **sent: Unpack[Decisions]) -> Release:
        """Approve or remove texts. Once each text has a decision, the archive is made."""
        reply: Release = self._http.json("POST", f"releases/{id}/texts/", body=sent)
        return reply

    def all(self, id: int, /) -> list[Release]:
        """The releases of a report, newest first (at most 100)."""
        reply: list[Release] = self._http.json("GET", f"reports/{id}/releases/")
        return reply

    def create(self, id: int, /, **sent: Unpack[NewRelease]) -> Release:
        """Request an anonymised release of a finished report; a background job builds it."""
        reply: Release = self._http.json("POST", f"reports/{id}/releases/", body=sent)
        return reply

    def cost(self, id: int, /, **sent: Unpack[ReleaseCost]) -> dict[str, Any]:
        """How many raters, values and rows a release would have less exactly or not at all, by attribute.
        Nothing is made.
        """
        reply: dict[str, Any] = self._http.json("POST", f"reports/{id}/releases/cost/", body=sent)
        return reply
