"""Operations on review. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Literal, Required, TypedDict, Unpack

from foretell_client.transport import Transport, part

ReviewDecision = Literal["accept", "return", "reject", "unpaid"]


class Batch(TypedDict, total=False):
    batch: Required[str]


class Decide(TypedDict, total=False):
    raters: Required[list[int]]
    decision: Required[ReviewDecision]
    bonus: str
    text: str
    category: str
    term: str


class Decided(TypedDict):
    decisions: int
    batch: str | None


class Decision(TypedDict):
    kind: ReviewDecision
    batch: str
    at_panel: bool
    bonus: str | None
    text: str
    category: str
    term: str
    by: str | None
    created_at: str
    due_at: str | None
    done_at: str | None
    fault: str


class Sign(TypedDict):
    kind: str
    words: str


class Submission(TypedDict):
    rater: int
    name: str
    state: str
    panel_status: str
    done: int
    accepted: int
    seconds: float | None
    failed_exam: bool
    excluded: bool
    waits: bool
    signs: list[Sign]
    decision: Decision | None


class ReviewOperations:
    """Operations on review."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def all(
        self,
        slug: str,
        /,
        *,
        show: Literal["all", "clean", "decided", "held", "signs", "waiting"] | None = None,
    ) -> list[Submission]:
        """The submissions, those with the most signs first. Signs decide nothing."""
        reply: list[Submission] = self._http.json(
            "GET", f"studies/{part(slug)}/review/", query={"show": show}
        )
        return reply

    def create(self, slug: str, /, **sent: Unpack[Decide]) -> Decided:
        """Decide about submissions, all or none. Held for five minutes before anyone is told. Needs the role
        of a reviewer, and of an editor of the workspace if the panel is told.
        """
        reply: Decided = self._http.json("POST", f"studies/{part(slug)}/review/", body=sent)
        return reply

    def carry_out(self, slug: str, /) -> Decided:
        """Let every held decision of the study be carried out now, in the background; returns how many there
        are.
        """
        reply: Decided = self._http.json("POST", f"studies/{part(slug)}/review/carry-out/")
        return reply

    def undo(self, slug: str, /, **sent: Unpack[Batch]) -> Decided:
        """Undo decisions that were made together, if they are held, or a rejection that the panel lets take
        back.
        """
        reply: Decided = self._http.json("POST", f"studies/{part(slug)}/review/undo/", body=sent)
        return reply
