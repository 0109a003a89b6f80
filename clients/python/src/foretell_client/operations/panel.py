"""Operations on panel. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.transport import Transport, part

PanelMove = Literal["publish", "pause", "resume", "stop", "compare", "match", "places"]
PanelStudyState = Literal["draft", "live", "paused", "ended", "other"]


class PanelAction(TypedDict, total=False):
    action: Required[PanelMove]
    places: int


class PanelStudy(TypedDict):
    panel: str
    remote_id: str
    state: PanelStudyState
    status: str
    places: int | None
    submissions: Any
    follows_work: bool
    most_places: int | None
    checked_at: str | None
    fault: str


class PanelOperations:
    """Operations on panel."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def all(self, slug: str, /) -> list[PanelStudy]:
        """Those that recruit for this study and were created from here, newest first. Asks the panel nothing."""
        reply: list[PanelStudy] = self._http.json("GET", f"studies/{part(slug)}/panel/")
        return reply

    def create(self, slug: str, /, **sent: Unpack[PanelAction]) -> PanelStudy:
        """Publish, pause, resume or stop the newest one that hasn't ended, set its places, compare its
        submissions, or make it match ours. Needs the role of an editor of the workspace.
        """
        reply: PanelStudy = self._http.json("POST", f"studies/{part(slug)}/panel/", body=sent)
        return reply
