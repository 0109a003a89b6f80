"""What the stand-in lets researchers decide: submissions, requests to return one, and messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from annotator.recruitment.stand_in.money import ProlificMoney, Refusal

#: Action of a decision -> the status that it needs, and the one that it makes.
DECIDED = {
    "APPROVE": ("AWAITING REVIEW", "APPROVED"), "REJECT": ("AWAITING REVIEW", "REJECTED"), "UNREJECT": ("REJECTED", "AWAITING REVIEW"),
}  # fmt: skip


@dataclass
class ProlificDecisions(ProlificMoney):
    """Decisions that changed a submission, requests to return one with their reasons, and messages (study, people, text)."""

    decided: list[tuple[str, str]] = field(default_factory=list)
    asked: list[tuple[str, list[str]]] = field(default_factory=list)
    messages: list[tuple[str, list[str], str]] = field(default_factory=list)

    def move(self, submission: str, status: str, *, code: str | None = None) -> None:
        """A submission changes its status."""
        raise NotImplementedError

    def _submission(self, method: str, rest: list[str], body: Any) -> Any:
        """One submission, shown, decided about or asked for."""
        one = self.submissions.get(rest[0])
        if one is None:
            raise Refusal(404, "Not found", "No such submission.")
        if rest[1:] == ["request-return"]:
            one["return_requested"] = datetime.now(UTC).isoformat()
            self.asked.append((one["id"], body["request_return_reasons"]))
        elif method == "POST":
            before, after = DECIDED[body["action"]]
            if one["status"] not in (before, after):
                raise Refusal(400, "Not possible", f"The submission is {one['status']}.")
            if body["action"] == "REJECT" and len(body.get("message", "")) < 100:
                raise Refusal(400, "Validation error", {"message": ["At least 100 characters."]})
            if one["status"] != after:
                self.decided.append((one["id"], body["action"]))
                self.move(one["id"], after)
        shown = {
            "id": one["id"], "participant": one["participant_id"], "started_at": one["started_at"], "study_id": one["study"],
            "status": one["status"], "return_requested": one.get("return_requested"),
        }  # fmt: skip
        return shown if method == "POST" else shown | {"bonus_payments": self.bonuses.get(one["id"], [])}

    def _bulk_approve(self, body: Any) -> str:
        for submission in body["submission_ids"]:
            if self.submissions[submission]["status"] == "AWAITING REVIEW":
                self.move(submission, "APPROVED")
        return "Bulk approve in progress"

    def _messages(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        self.messages.append((body["study_id"], sorted(body["ids"]), body["body"]))
        return 204, None, {}
