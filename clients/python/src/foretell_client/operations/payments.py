"""Operations on payments. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Required, TypedDict, Unpack

from foretell_client.transport import Transport, part


class Accepted(TypedDict):
    judgments: int


class Balance(TypedDict):
    rater: int
    name: str
    recruiter: str
    recruiter_id: str
    state: str
    done: int
    accepted: int
    earned: float
    waiting: float
    paid: float
    payable: str


class Bonus(TypedDict):
    rater: int
    amount: str
    reason: str


class BonusSent(TypedDict, total=False):
    rater: Required[int]
    amount: Required[str]
    reason: Required[str]


class PaymentRecord(TypedDict, total=False):
    reference: Required[str]
    amounts: Required[dict[str, str]]


class PaymentTotals(TypedDict):
    done: int
    accepted: int
    waiting: float
    paid: float
    payable: str


class PaymentUndo(TypedDict, total=False):
    reference: Required[str]


class Payments(TypedDict):
    currency: str
    totals: PaymentTotals
    participants: list[Balance]


class Recorded(TypedDict):
    participants: int
    total: str


class Undone(TypedDict):
    participants: int


class WorkAccept(TypedDict, total=False):
    raters: list[int]
    excluded: bool


class PaymentsOperations:
    """Operations on payments."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, slug: str, /) -> Payments:
        """What each participant has earned, been paid and is owed, and the sums."""
        reply: Payments = self._http.json("GET", f"studies/{part(slug)}/payments/")
        return reply

    def create(self, slug: str, /, **sent: Unpack[PaymentRecord]) -> Recorded:
        """Record that participants were paid: all or none. Needs the role of a reviewer."""
        reply: Recorded = self._http.json("POST", f"studies/{part(slug)}/payments/", body=sent)
        return reply

    def accept(self, slug: str, /, **sent: Unpack[WorkAccept]) -> Accepted:
        """Accept what participants have submitted. Needs the role of a reviewer."""
        reply: Accepted = self._http.json("POST", f"studies/{part(slug)}/payments/accept/", body=sent)
        return reply

    def bonus(self, slug: str, /, **sent: Unpack[BonusSent]) -> Bonus:
        """Give a participant a bonus. Needs the role of a reviewer."""
        reply: Bonus = self._http.json("POST", f"studies/{part(slug)}/payments/bonus/", body=sent)
        return reply

    def undo(self, slug: str, /, **sent: Unpack[PaymentUndo]) -> Undone:
        """The participants are owed the amounts again; the audit trail keeps them. Needs the role of a
        reviewer.
        """
        reply: Undone = self._http.json("POST", f"studies/{part(slug)}/payments/undo/", body=sent)
        return reply
