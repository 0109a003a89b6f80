"""Operations on messages. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Required, TypedDict, Unpack

from foretell_client.transport import Transport, part

MessageKind = Literal["flag", "question", "reply", "deletion"]
To = Literal["unanswered", "unfinished", "everyone"]


class Answer(TypedDict, total=False):
    messages: Required[list[int]]
    text: Required[str]


class Answered(TypedDict):
    participants: int


class Message(TypedDict):
    id: int
    kind: MessageKind
    rater: str
    item: str | None
    text: str
    author: str | None
    created_at: str
    settled_at: str | None


class Sent(TypedDict):
    people: int
    through_panel: int
    already: int


class SettledCount(TypedDict):
    settled: int


class Settled(TypedDict, total=False):
    messages: Required[list[int]]


class Write(TypedDict, total=False):
    raters: list[int]
    to: To
    text: Required[str]
    through_panel: bool


class MessagesOperations:
    """Operations on messages."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def all(
        self, slug: str, /, *, page_size: int | None = None, waiting: bool | None = None
    ) -> Iterator[Message]:
        """The study's messages by id."""
        return self._http.pages(
            "GET", f"studies/{part(slug)}/messages/", query={"page_size": page_size, "waiting": waiting}
        )

    def create(self, slug: str, /, **sent: Unpack[Answer]) -> Answered:
        """Answer messages with one text. Needs the role of a reviewer."""
        reply: Answered = self._http.json("POST", f"studies/{part(slug)}/messages/", body=sent)
        return reply

    def new(self, slug: str, /, **sent: Unpack[Write]) -> Sent:
        """Send one text to `raters`, or to all of a group: `to`. Needs the role of a reviewer."""
        reply: Sent = self._http.json("POST", f"studies/{part(slug)}/messages/new/", body=sent)
        return reply

    def settle(self, slug: str, /, **sent: Unpack[Settled]) -> SettledCount:
        """Settle messages without an answer. Needs the role of a reviewer."""
        reply: SettledCount = self._http.json("POST", f"studies/{part(slug)}/messages/settle/", body=sent)
        return reply
