"""Types of several groups of operations. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

FileImportKind = Literal["material", "judgments"]
FileImportState = Literal["queued", "running", "done", "refused", "failed", "cancelled"]
ReportState = Literal["queued", "running", "done", "failed"]


class Action(TypedDict, total=False):
    """``calls`` for ``retry``, ``give-up`` and ``continue-without``, ``deployments`` for ``same-
    deployment``, nothing for the others.
    """

    calls: list[int]
    deployments: list[str]


class Fault(TypedDict):
    file: str
    line: int | None
    field: str
    value: str
    expected: str


class FileImport(TypedDict):
    id: int
    kind: FileImportKind
    name: str
    state: FileImportState
    size: int
    bytes_read: int
    result: dict[str, Any]
    problem_count: int
    problems: list[Fault]
    error: str
    created_at: str
    finished_at: str | None
