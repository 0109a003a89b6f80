"""What the stand-in pays: bonuses are set up and paid in bulk, rewards and screen-outs follow from a submission's status."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any


class Refusal(Exception):
    """A reply with this status and problem."""

    def __init__(self, status: int, title: str, detail: Any) -> None:
        self.status = status
        self.body = {
            "error": {"status": status, "error_code": 140_000 + status, "title": title, "detail": detail}
        }


@dataclass
class ProlificMoney:
    """Bonuses that were set up, as (submission, cents), by their id; and those that were paid, by submission."""

    fee: float = 0.4
    studies: dict[str, dict[str, Any]] = field(default_factory=dict)
    submissions: dict[str, dict[str, Any]] = field(default_factory=dict)
    prepared: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    bonuses: dict[str, list[int]] = field(default_factory=dict)

    def id(self) -> str:
        """A new id."""
        raise NotImplementedError

    def _bonuses_set_up(self, body: Any) -> dict[str, Any]:
        mine = {
            submission["participant_id"]: submission["id"]
            for submission in self.submissions.values()
            if submission["study"] == body["study_id"]
        }
        lines = [line.split(",") for line in body["csv_bonuses"].splitlines()]
        if strange := [person for person, _ in lines if person not in mine]:
            raise Refusal(400, "Validation error", f"These have not taken part: {', '.join(strange)}")
        pk = self.id()
        self.prepared[pk] = [(mine[person], int(Decimal(amount) * 100)) for person, amount in lines]
        amount = sum(cents for _, cents in self.prepared[pk])
        return {
            "id": pk,
            "study": body["study_id"],
            "amount": amount,
            "total_amount": round(amount * (1 + self.fee)),
        }

    def _bulk_bonus_payments(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        for submission, cents in self.prepared[
            rest[0]
        ]:  # as Prolific does: each request pays, also a second one
            self.bonuses.setdefault(submission, []).append(cents)
        return 202, "Received", {}

    def paid(self, person: str) -> Decimal:
        """What somebody has got in all: rewards of approved submissions, screen-outs and bonuses."""
        mine = [
            submission for submission in self.submissions.values() if submission["participant_id"] == person
        ]
        return Decimal(sum(self._cents(one) for one in mine)) / 100

    def paid_in(self, study: str) -> dict[str, int]:
        """What each participant of a study has got, in hundredths; without those who got nothing."""
        got: dict[str, int] = {}
        for submission in self.submissions.values():
            if submission["study"] == study and (cents := self._cents(submission)):
                got[submission["participant_id"]] = got.get(submission["participant_id"], 0) + cents
        return got

    def _cents(self, submission: dict[str, Any]) -> int:
        study = self.studies[submission["study"]]
        codes = [action for code in study["completion_codes"] for action in code["actions"]]
        fixed = sum(action.get("fixed_screen_out_reward", 0) for action in codes)
        reward = {"APPROVED": study["reward"], "SCREENED OUT": fixed}.get(submission["status"], 0)
        return int(reward) + sum(self.bonuses.get(submission["id"], []))
