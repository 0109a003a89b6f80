"""Operations on payments. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Literal, Required, TypedDict, Unpack

from foretell_client.transport import Transport, part

BonusKind = Literal["bonus", "screen_out"]
Outcome = Literal["paid", "unpaid", "cancel"]
PayKind = Literal["approve", "screen_out", "bonus"]
PayPartState = Literal["waiting", "set_up", "sending", "sent", "cancelled"]


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
    kind: BonusKind


class BonusSent(TypedDict, total=False):
    rater: Required[int]
    amount: Required[str]
    reason: Required[str]
    kind: BonusKind


class LeftOut(TypedDict):
    name: str
    why: str
    amount: str


class PayBatch(TypedDict):
    key: str
    currency: str
    created_at: str
    finished_at: str | None
    fault: str
    retry_at: str | None
    parts: list[PayPart]


class PayBatchAsked(TypedDict, total=False):
    key: Required[str]
    digest: Required[str]


class PayPart(TypedDict):
    number: int
    kind: PayKind
    people: int
    amount: str
    cost: str | None
    state: PayPartState
    sent_at: str | None


class PayProposal(TypedDict):
    currency: str
    fault: str
    digest: str
    total: str
    payments: list[Payment]
    left_out: list[LeftOut]
    batches: list[PayBatch]


class PaySettle(TypedDict, total=False):
    key: Required[str]
    outcome: Required[Outcome]


class Payment(TypedDict):
    rater: int
    name: str
    kind: PayKind
    amount: str
    credit: str


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


class TopUp(TypedDict):
    currency: str
    floor: str
    per_hour: str | None
    people: int
    why: str
    total: str
    amounts: list[TopUpAmount]


class TopUpAmount(TypedDict):
    rater: int
    name: str
    amount: str


class TopUpAsked(TypedDict, total=False):
    total: Required[str]


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

    def panel(self, slug: str, /) -> PayProposal:
        """Who can be paid through the panel now, who can't and why, and the latest batches. Asks the panel
        nothing.
        """
        reply: PayProposal = self._http.json("GET", f"studies/{part(slug)}/payments/panel/")
        return reply

    def panel_create(self, slug: str, /, **sent: Unpack[PayBatchAsked]) -> PayBatch:
        """Pay what was proposed: approve submissions and pay bonuses. With the key of a batch that failed
        half-way, continue it: nobody is paid twice. Needs the role of an editor of the workspace.
        """
        reply: PayBatch = self._http.json("POST", f"studies/{part(slug)}/payments/panel/", body=sent)
        return reply

    def panel_settle(self, slug: str, /, **sent: Unpack[PaySettle]) -> PayBatch:
        """Say whether the part whose reply was lost was paid, or cancel what wasn't sent. Needs the role of an
        editor of the workspace.
        """
        reply: PayBatch = self._http.json("POST", f"studies/{part(slug)}/payments/panel/settle/", body=sent)
        return reply

    def top_up(self, slug: str, /) -> TopUp:
        """The median pay per hour, and what everybody is due so that it reaches the minimum."""
        reply: TopUp = self._http.json("GET", f"studies/{part(slug)}/payments/top-up/")
        return reply

    def top_up_create(self, slug: str, /, **sent: Unpack[TopUpAsked]) -> TopUp:
        """Give the top-up that costs `total`, once. Needs the role of a reviewer."""
        reply: TopUp = self._http.json("POST", f"studies/{part(slug)}/payments/top-up/", body=sent)
        return reply

    def undo(self, slug: str, /, **sent: Unpack[PaymentUndo]) -> Undone:
        """The participants are owed the amounts again; the audit trail keeps them. Needs the role of a
        reviewer.
        """
        reply: Undone = self._http.json("POST", f"studies/{part(slug)}/payments/undo/", body=sent)
        return reply
