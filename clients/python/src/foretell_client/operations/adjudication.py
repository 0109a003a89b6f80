"""Operations on adjudication. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.transport import Transport, part


class Adjudicated(TypedDict):
    item: int
    key: str
    state: str
    adjudicators: int
    response: dict[str, Any] | None
    labels: list[GivenLabel]


class GivenLabel(TypedDict):
    adjudicator: int
    seat: int
    response: dict[str, Any]


class GoldMade(TypedDict):
    slug: str
    items: int


class Gold(TypedDict, total=False):
    slug: Required[str]
    title: Required[str]


class Queue(TypedDict):
    contested: int
    decided: int
    undecided: int
    mine: int
    judged: int
    computing: bool
    total: int
    waiting: list[Waiting]


class Waiting(TypedDict):
    item: int
    raters: int
    answers: int
    bits: float
    tie: bool


class AdjudicationOperations:
    """Operations on adjudication."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def adjudicated(self, slug: str, /) -> list[Adjudicated]:
        """All items with adjudications, in order of item. Needs the role of a reviewer."""
        reply: list[Adjudicated] = self._http.json("GET", f"studies/{part(slug)}/adjudicated/")
        return reply

    def adjudicated_create(self, slug: str, /, **sent: Unpack[Gold]) -> GoldMade:
        """Copy the study into a new draft in which the decided items are gold items. Needs the role of a
        reviewer.
        """
        reply: GoldMade = self._http.json("POST", f"studies/{part(slug)}/adjudicated/", body=sent)
        return reply

    def read(
        self,
        slug: str,
        /,
        *,
        limit: int | None = None,
        offset: int | None = None,
        order: Literal["entropy", "posterior"] | None = None,
    ) -> Queue:
        """Those that you may label, the most uncertain first. Needs the role of a reviewer."""
        reply: Queue = self._http.json(
            "GET",
            f"studies/{part(slug)}/adjudication/",
            query={"limit": limit, "offset": offset, "order": order},
        )
        return reply
