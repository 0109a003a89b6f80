"""Operations on hit types. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Required, TypedDict, Unpack

from foretell_client.operations.shared import (
    Check,
    CopyType,
    DeclaredFile,
    DeclaredType,
    DeclaredVersion,
    NewType,
    NewVersion,
    Study,
)
from foretell_client.transport import Transport


class FileChecked(TypedDict):
    kind: str
    name: str
    version: str
    problems: list[Problem]
    checks: list[Check]


class Problem(TypedDict):
    line: int
    path: str
    message: str


class SourceSent(TypedDict, total=False):
    source: Required[str]


class Try(TypedDict, total=False):
    hit_type: Required[str]
    workspace: int
    rehearsed: bool


class HitTypesOperations:
    """Operations on hit types."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, id: int, /, *, number: int | None = None) -> DeclaredFile:
        """The latest version, or the one that is asked for."""
        reply: DeclaredFile = self._http.json("GET", f"hit-types/{id}/", query={"number": number})
        return reply

    def delete(self, id: int, /) -> None:
        """Delete it with all versions; refused while a study uses one. Needs the role of an editor."""
        self._http.nothing("DELETE", f"hit-types/{id}/")

    def copy(self, id: int, /, **sent: Unpack[CopyType]) -> DeclaredVersion:
        """Copy its latest version into one of your workspaces, where the name must be free."""
        reply: DeclaredVersion = self._http.json("POST", f"hit-types/{id}/copy/", body=sent)
        return reply

    def versions(self, id: int, /) -> list[DeclaredVersion]:
        """The versions of a type, newest first."""
        reply: list[DeclaredVersion] = self._http.json("GET", f"hit-types/{id}/versions/")
        return reply

    def versions_create(self, id: int, /, **sent: Unpack[NewVersion]) -> DeclaredVersion:
        """Save a file as the next version. Studies keep the version that they have. Needs the role of an
        editor.
        """
        reply: DeclaredVersion = self._http.json("POST", f"hit-types/{id}/versions/", body=sent)
        return reply

    def check(self, **sent: Unpack[SourceSent]) -> FileChecked:
        """Every problem with its line, or the results of the checks that a type must pass to be saved."""
        reply: FileChecked = self._http.json("POST", "hit-types/check/", body=sent)
        return reply

    def own(self) -> list[DeclaredType]:
        """Each with its latest version."""
        reply: list[DeclaredType] = self._http.json("GET", "hit-types/own/")
        return reply

    def own_create(self, **sent: Unpack[NewType]) -> DeclaredVersion:
        """Save a file as a new type, or as the next version of the workspace's type of its name. Needs the
        role of an editor.
        """
        reply: DeclaredVersion = self._http.json("POST", "hit-types/own/", body=sent)
        return reply

    def try_(self, **sent: Unpack[Try]) -> Study:
        """Make a live demo study of it, with a few items. Close and delete it as any study."""
        reply: Study = self._http.json("POST", "hit-types/try/", body=sent)
        return reply
