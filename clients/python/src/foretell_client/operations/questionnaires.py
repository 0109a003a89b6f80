"""Operations on questionnaires. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Unpack

from foretell_client.operations.shared import (
    CopyType,
    DeclaredFile,
    DeclaredType,
    DeclaredVersion,
    NewType,
    NewVersion,
)
from foretell_client.transport import Transport


class QuestionnairesOperations:
    """Operations on questionnaires."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, id: int, /, *, number: int | None = None) -> DeclaredFile:
        """The latest version, or the one that is asked for."""
        reply: DeclaredFile = self._http.json("GET", f"questionnaires/{id}/", query={"number": number})
        return reply

    def delete(self, id: int, /) -> None:
        """Delete it with all versions; refused while a study uses one. Needs the role of an editor."""
        self._http.nothing("DELETE", f"questionnaires/{id}/")

    def copy(self, id: int, /, **sent: Unpack[CopyType]) -> DeclaredVersion:
        """Copy its latest version into one of your workspaces, where the name must be free."""
        reply: DeclaredVersion = self._http.json("POST", f"questionnaires/{id}/copy/", body=sent)
        return reply

    def versions(self, id: int, /) -> list[DeclaredVersion]:
        """The versions of a questionnaire, newest first."""
        reply: list[DeclaredVersion] = self._http.json("GET", f"questionnaires/{id}/versions/")
        return reply

    def versions_create(self, id: int, /, **sent: Unpack[NewVersion]) -> DeclaredVersion:
        """Save a file as the next version. Studies keep the version that they have. Needs the role of an
        editor.
        """
        reply: DeclaredVersion = self._http.json("POST", f"questionnaires/{id}/versions/", body=sent)
        return reply

    def own(self) -> list[DeclaredType]:
        """Each with its latest version."""
        reply: list[DeclaredType] = self._http.json("GET", "questionnaires/own/")
        return reply

    def own_create(self, **sent: Unpack[NewType]) -> DeclaredVersion:
        """Save a file as a new type, or as the next version of the workspace's type of its name. Needs the
        role of an editor.
        """
        reply: DeclaredVersion = self._http.json("POST", "questionnaires/own/", body=sent)
        return reply
