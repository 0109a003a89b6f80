"""Operations on items. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.transport import Transport, part

ItemRole = Literal["ordinary", "gold", "attention"]


class Adjudication(TypedDict):
    id: int
    item: int
    adjudicator: int
    seat: int
    round: int
    response: Any
    created_at: str


class ContestedAnswer(TypedDict):
    rater: str
    rater_kind: str
    response: dict[str, Any]
    excluded: str


class ContestedItem(TypedDict):
    item: str
    id: int
    raters: int
    answers: int
    entropy: float
    judgments: list[ContestedAnswer]


class Correction(TypedDict, total=False):
    payload: Required[dict[str, Any]]
    gold: dict[str, Any] | None
    reason: Required[str]


class GivenAnswer(TypedDict):
    answers: list[list[str]]
    people: int


class Item(TypedDict):
    id: int
    key: str
    role: ItemRole
    condition: str
    instance: str
    system: str
    payload: Any
    gold: Any


class ItemContent(TypedDict, total=False):
    payload: Required[dict[str, Any]]
    gold: dict[str, Any] | None


class Label(TypedDict, total=False):
    response: Required[dict[str, Any]]


class Option(TypedDict):
    value: str
    label: str


class Question(TypedDict):
    name: str
    label: str
    options: list[Option]


class Shown(TypedDict):
    name: str
    label: str
    text: str
    items: list[str]
    format: str


class ToAdjudicate(TypedDict):
    item: int
    why_not: str
    shown: list[Shown]
    questions: list[Question]
    answers: list[GivenAnswer]


class Withdrawal(TypedDict, total=False):
    reason: Required[str]


class ItemsOperations:
    """Operations on items."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, id: int, /) -> Item:
        """The item with its correct response, if it has one."""
        reply: Item = self._http.json("GET", f"items/{id}/")
        return reply

    def replace(self, id: int, /, **sent: Unpack[ItemContent]) -> Item:
        """Change an item of a draft. Needs the role of an editor."""
        reply: Item = self._http.json("PUT", f"items/{id}/", body=sent)
        return reply

    def delete(self, id: int, /) -> None:
        """Delete an item of a draft. Needs the role of an editor."""
        self._http.nothing("DELETE", f"items/{id}/")

    def adjudication(self, id: int, /) -> ToAdjudicate:
        """What annotators saw, and their answers without names. Other adjudicators' labels aren't in it. Needs
        the role of a reviewer.
        """
        reply: ToAdjudicate = self._http.json("GET", f"items/{id}/adjudication/")
        return reply

    def adjudication_create(self, id: int, /, **sent: Unpack[Label]) -> Adjudication:
        """Label the item. The first two people label it independently, a third settles a tie. Needs the role
        of a reviewer.
        """
        reply: Adjudication = self._http.json("POST", f"items/{id}/adjudication/", body=sent)
        return reply

    def adjudication_delete(self, id: int, /) -> None:
        """Take your label back, within ten minutes and until somebody else labels the item. Needs the role of
        a reviewer.
        """
        self._http.nothing("DELETE", f"items/{id}/adjudication/")

    def correct(self, id: int, /, **sent: Unpack[Correction]) -> Item:
        """The corrected version is given out instead; its problem reports are settled. Needs the role of an
        editor.
        """
        reply: Item = self._http.json("POST", f"items/{id}/correct/", body=sent)
        return reply

    def withdraw(self, id: int, /, **sent: Unpack[Withdrawal]) -> Item:
        """It is no longer given out, and statistics leave it out. Needs the role of an editor."""
        reply: Item = self._http.json("POST", f"items/{id}/withdraw/", body=sent)
        return reply

    def contested(
        self,
        slug: str,
        /,
        *,
        condition: str | None = None,
        kind: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        rater: str | None = None,
        system: str | None = None,
    ) -> list[ContestedItem]:
        """The most divided items first, with all answers. Rehearsals are left out."""
        reply: list[ContestedItem] = self._http.json(
            "GET",
            f"studies/{part(slug)}/contested/",
            query={
                "condition": condition,
                "kind": kind,
                "limit": limit,
                "offset": offset,
                "rater": rater,
                "system": system,
            },
        )
        return reply

    def all(self, slug: str, /, *, page_size: int | None = None) -> Iterator[Item]:
        """The study's items, with their correct responses if they have any."""
        return self._http.pages("GET", f"studies/{part(slug)}/items/", query={"page_size": page_size})
