"""The stand-in's books: studies, submissions of people who arrive, finish, return or run out of time, groups and webhooks."""

from __future__ import annotations

import json
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from annotator.recruitment.stand_in.decisions import ProlificDecisions
from annotator.recruitment.stand_in.links import LinkSigner, webhook
from annotator.recruitment.stand_in.money import Refusal

#: What the stand-in accepts as the token of its only account.
TOKEN = "prolific-stand-in-token-9f3a"  # noqa: S105 - of nobody
WORKSPACE, PROJECT, USER = "60aca280709ee40ec37d4885", "60aca280709ee40ec37d4886", "60aca280709ee40ec37d4880"
FILTERS: list[dict[str, Any]] = [
    {"filter_id": "fluent-languages", "title": "Fluent languages", "type": "select", "data_type": "ChoiceID",
     "choices": {"19": "English", "22": "German"}},
    {"filter_id": "age", "title": "Age", "type": "range", "data_type": "integer", "min": 18, "max": 100},
    {"filter_id": "participant_group_allowlist", "title": "Participant group allowlist", "type": "select",
     "data_type": "ParticipantGroupID", "choices": {}},
    {"filter_id": "previous_studies_blocklist", "title": "Exclude previous studies", "type": "select", "data_type": "StudyID",
     "choices": {}},
]  # fmt: skip
#: How many places are taken in an hour, as it predicts.
PLACES_PER_HOUR = 5
#: Statuses that don't take a place.
GONE = ("RETURNED", "TIMED-OUT")
MOVES = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE", ("ACTIVE", "PAUSE"): "PAUSED", ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE", ("PAUSED", "STOP"): "COMPLETED",
}  # fmt: skip


@dataclass
class Outage:
    """The API is down for ``seconds`` from the first request on whose "METHOD path" has ``begins`` in it: requests get a 500, or no reply."""

    begins: str
    seconds: float
    since: float | None = None
    failed: int = 0

    def fails(self, request: str) -> bool:
        if self.since is None and self.begins in request:
            self.since = time.monotonic()
        down = self.since is not None and time.monotonic() - self.since < self.seconds
        self.failed += down
        return down


class MessageChecks(Protocol):
    """What checks every message against Prolific's published description, which isn't part of the product."""

    def request_check(self, method: str, path: str, body: Any) -> None: ...

    def reply_check(self, method: str, path: str, status: int, body: Any) -> None: ...


@dataclass
class ProlificBooks(ProlificDecisions):
    """Everything that this Prolific knows. ``exchanges`` are the requests with their replies; ``invalid`` those that Prolific's
    description doesn't allow, if there are ``checks``; ``outbox`` the webhooks that weren't delivered yet, as (address, body, headers)."""

    url: str = ""
    token: str = TOKEN
    checks: MessageChecks | None = None
    signer: LinkSigner = field(default_factory=LinkSigner)
    fee: float = 0.4
    studies: dict[str, dict[str, Any]] = field(default_factory=dict)
    submissions: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    hooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    secret: str = ""
    exchanges: list[tuple[str, str, Any, int, Any]] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    #: (part of "METHOD path", what happens): "429", "500", "500 after", "lost".
    troubles: list[tuple[str, str]] = field(default_factory=list)
    outage: Outage | None = None
    outbox: list[tuple[str, bytes, dict[str, str]]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def id(self) -> str:
        return f"{next(self._numbers):024x}"

    # -- people --------------------------------------------------------------------------------------------

    def taken(self, study: str) -> int:
        with self._lock:
            mine = [submission for submission in self.submissions.values() if submission["study"] == study]
        return sum(one["status"] not in GONE for one in mine)

    def arrive(self, study: str, person: str) -> str:
        """Somebody takes a place and starts; returns their submission. Raises ``Refusal`` if there is none."""
        with self._lock:  # several people arrive at the same time
            found = self.studies[study]
            if found["status"] != "ACTIVE" or self.taken(study) >= found["total_available_places"]:
                raise Refusal(400, "Full", "No place is available.")
            submission = self.id()
            self.submissions[submission] = {
                "id": submission, "study": study, "participant_id": person, "status": "RESERVED", "code": None,
                "started_at": datetime.now(UTC).isoformat(),
            }  # fmt: skip
            self.move(submission, "ACTIVE")
            return submission

    def link(self, submission: str) -> str:
        """The study's link as Prolific opens it for the submission's participant, signed if the study asks for that."""
        found = self.submissions[submission]
        study = self.studies[found["study"]]
        ids = {
            "PROLIFIC_PID": found["participant_id"], "STUDY_ID": study["id"], "SESSION_ID": submission,
        }  # fmt: skip
        url = str(study["external_study_url"])
        for name, value in ids.items():
            url = url.replace(f"{{{{%{name}%}}}}", value)
        if study["is_external_study_url_secure"]:
            where = urlsplit(url)
            about = {"path": where.path, "host": where.netloc, "study": study["id"], "submission": submission}
            address = url.partition("?")[0]
            return f"{address}?{self.signer.query(found['participant_id'], **about)}"
        return url

    def move(self, submission: str, status: str, *, code: str | None = None) -> None:
        """A submission changes its status: TIMED-OUT, RETURNED, AWAITING REVIEW, APPROVED, REJECTED, ..."""
        with self._lock:
            found = self.submissions[submission]
            found["status"], found["code"] = status, code or found["code"]
            self._tell(
                "submission.status.change", status, submission=submission, person=found["participant_id"]
            )
            study = self.studies[found["study"]]
            full = self.taken(study["id"]) >= study["total_available_places"]
            if study["status"] == "ACTIVE" and full and not self._at_work(study["id"]):
                self.study_move(study["id"], "AWAITING REVIEW")

    def study_move(self, study: str, status: str) -> None:
        self.studies[study]["status"] = status
        self._tell("study.status.change", status, study=study)

    def complete(self, submission: str, code: str) -> None:
        """A participant enters a code: what was agreed for it happens."""
        study = self.studies[self.submissions[submission]["study"]]
        codes = {
            completion_code["code"]: completion_code["actions"]
            for completion_code in study["completion_codes"]
        }
        actions = [one["action"] for one in codes[code]]
        for one in codes[code]:
            if one["action"] == "ADD_TO_PARTICIPANT_GROUP":
                self.groups[one["participant_group"]]["people"].add(
                    self.submissions[submission]["participant_id"]
                )
        status = "AWAITING REVIEW"
        if "AUTOMATICALLY_APPROVE" in actions:
            status = "APPROVED"
        if "FIXED_SCREEN_OUT_PAYMENT" in actions:
            status = "SCREENED OUT"
        self.move(submission, status, code=code)

    def _at_work(self, study: str) -> bool:
        return any(
            submission["study"] == study and submission["status"] in ("ACTIVE", "RESERVED")
            for submission in self.submissions.values()
        )

    def _tell(self, kind: str, status: str, **about: Any) -> None:
        for hook in self.hooks.values():
            if hook["event_type"] == kind and hook["is_enabled"]:
                body, headers = webhook(status, secret=self.secret, **about)
                self.outbox.append((hook["target_url"], body, headers))

    def deliver(
        self,
        send: Callable[[str, bytes, dict[str, str]], Any],
        *,
        seed: int = 0,
        lost: float = 0,
        doubled: float = 0,
    ) -> int:
        """Send what is in the outbox in another order than it happened (with ``seed``), some of it twice or never."""
        rng = random.Random(seed)
        with self._lock:
            waiting, self.outbox = self.outbox, []
        waiting = [one for one in waiting if rng.random() >= lost]
        waiting += [one for one in waiting if rng.random() < doubled]
        if seed:
            rng.shuffle(waiting)
        for one in waiting:
            send(*one)
        return len(waiting)

    # -- the API -------------------------------------------------------------------------------------------

    def answer(self, method: str, path: str, body: Any, token: str) -> tuple[int, Any, dict[str, str]]:
        """The reply to one request: status, body, headers."""
        if token != f"Token {self.token}":
            raise Refusal(401, "Unauthorized", "Invalid token.")
        parts = [part for part in urlsplit(path).path.removeprefix("/api/v1/").split("/") if part]
        query = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        handler = getattr(self, f"_{parts[0].replace('-', '_')}", None)
        if handler is None:
            raise Refusal(404, "Not found", "There is no such address.")
        found = handler(method, parts[1:], query, body)
        return found if isinstance(found, tuple) else (200, found, {})

    def _users(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        return {"id": USER, "email": "rosa@lab.example"}

    def _workspaces(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        if not rest:
            return {"results": [{"id": WORKSPACE, "title": "Lab"}]}
        if rest[0] != WORKSPACE:
            raise Refusal(404, "Not found", "No such workspace.")
        if rest[1] == "balance":
            return {"currency_code": "GBP", "total_balance": 60_000, "available_balance": 50_000}
        return {"results": [{"id": PROJECT, "title": "First project", "type": "PRIVATE"}]}

    def _filters(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        return {"results": FILTERS}

    def _study_cost_calculator(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        return {"total_cost": body["reward"] * body["total_available_places"] * (1 + self.fee)}

    def _studies(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        if rest == ["predicted-recruitment-time"]:
            hours = body["total_available_places"] / PLACES_PER_HOUR
            words = f"about {hours:g} hours" if hours >= 1 else f"about {hours * 60:.0f} minutes"
            return {"display_string": words, "precise_recruitment_time_hours": hours}
        if not rest and method == "GET":
            short = ("id", "name", "internal_name", "status", "total_available_places", "reward")
            return {"results": [{name: one[name] for name in short} for one in self.studies.values()]}
        if not rest:
            if body["reward"] < 10:
                raise Refusal(400, "Validation error", {"reward": ["The reward is below the minimum."]})
            study = body | {"id": self.id(), "status": "UNPUBLISHED", "is_ready_to_publish": True}
            self.studies[study["id"]] = study
            return 201, study, {}
        study = self.studies.get(rest[0])
        if study is None:
            raise Refusal(404, "Not found", "No such study.")
        if rest[1:] == ["transition"]:
            moved = MOVES.get((study["status"], body["action"]))
            if moved is None:
                raise Refusal(400, "Not possible", f"The study is {study['status']}.")
            self.study_move(study["id"], moved)
        elif method == "PATCH":
            self._study_patch(study, body)
        return study

    def _study_patch(self, study: dict[str, Any], body: dict[str, Any]) -> None:
        if study["status"] != "UNPUBLISHED":
            if set(body) - {"internal_name", "total_available_places"}:
                raise Refusal(400, "Not possible", "A published study can't be changed.")
            if body["total_available_places"] < study["total_available_places"]:
                raise Refusal(
                    400, "Validation error", {"total_available_places": ["Only increasing is allowed."]}
                )
        grown = body.get("total_available_places", 0) > study["total_available_places"]
        study.update(body)
        if grown and study["status"] in ("COMPLETED", "AWAITING REVIEW"):
            self.study_move(study["id"], "ACTIVE")

    def _submissions(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        if rest == ["bulk-approve"]:
            return self._bulk_approve(body)
        if rest == ["bonus-payments"]:
            return 201, self._bonuses_set_up(body), {}
        if rest:
            return self._submission(method, rest, body)
        mine = [
            submission for submission in self.submissions.values() if submission["study"] == query["study"]
        ]
        size, page = int(query["page_size"]), int(query["page"])
        shown = [
            {"id": one["id"], "participant_id": one["participant_id"], "status": one["status"], "started_at": one["started_at"],
             "has_siblings": False, "study_code": one["code"]}
            for one in mine[(page - 1) * size : page * size]
        ]  # fmt: skip
        return {"results": shown}

    def _participant_groups(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        if not rest and method == "GET":
            return {"results": [{"id": pk, "name": one["name"]} for pk, one in self.groups.items()]}
        if not rest:
            pk = self.id()
            self.groups[pk] = {"name": body["name"], "people": set(body["participant_ids"])}
            return 201, {"id": pk, "name": body["name"], "workspace_id": body["workspace_id"]}, {}
        group = self.groups[rest[0]]
        group["people"] |= set(body["participant_ids"])
        return {"results": [{"participant_id": person} for person in sorted(group["people"])]}

    def _hooks(self, method: str, rest: list[str], query: Any, body: Any) -> Any:
        if rest[0] == "secrets":
            if method == "POST":
                self.secret = secrets.token_urlsafe(24)
                return 201, {"id": self.id(), "value": self.secret, "workspace_id": WORKSPACE}, {}
            shown = [{"id": "1", "value": self.secret, "workspace_id": WORKSPACE}] if self.secret else []
            return {"results": shown}
        if len(rest) == 1 and method == "GET":
            wanted = query.get("is_enabled", "true") == "true"
            hidden = {"confirmation"}
            rows = [one for one in self.hooks.values() if one["is_enabled"] == wanted]
            return {"results": [{name: row[name] for name in row if name not in hidden} for row in rows]}
        if len(rest) == 1:
            hook = body | {"id": self.id(), "is_enabled": False}
            self.hooks[hook["id"]] = hook | {"confirmation": secrets.token_hex(8)}
            return 201, {"results": [hook]}, {"X-Hook-Secret": self.hooks[hook["id"]]["confirmation"]}
        hook = self.hooks.get(rest[1])
        if hook is None:
            raise Refusal(404, "Not found", "No such subscription.")
        if method == "DELETE":
            del self.hooks[rest[1]]
            return 204, None, {}
        if body["secret"] != hook["confirmation"]:
            raise Refusal(400, "Not possible", "The secret is another one.")
        hook["is_enabled"] = True
        return {name: value for name, value in hook.items() if name != "confirmation"}

    # -- over HTTP -----------------------------------------------------------------------------------------

    def exchange(
        self, method: str, path: str, body: Any, token: str
    ) -> tuple[int, Any, dict[str, str]] | None:
        """One request with what goes wrong; None if the reply is lost."""
        with self._lock:
            if self.outage is not None and self.outage.fails(f"{method} {path}"):
                return (
                    None if self.outage.failed % 2 else (500, Refusal(500, "Server error", "Sorry.").body, {})
                )
            trouble = next((one for one in self.troubles if one[0] in f"{method} {path}"), ("", ""))
            if trouble in self.troubles:
                self.troubles.remove(trouble)
            known = self.checks
            if known is not None:
                self._checked(lambda: known.request_check(method, path, body))
            if trouble[1] == "429":
                return 429, Refusal(429, "Too many requests", "Slow down.").body, {"Retry-After": "1"}
            if trouble[1] == "500":
                return 500, Refusal(500, "Server error", "Sorry.").body, {}
            try:
                status, reply, headers = self.answer(method, path, body, token)
            except Refusal as refusal:
                status, reply, headers = refusal.status, refusal.body, {}
            self.exchanges.append((method, path, body, status, json.loads(json.dumps(reply))))
            if known is not None:
                self._checked(lambda: known.reply_check(method, path, status, reply))
            if trouble[1] == "500 after":
                return 500, Refusal(500, "Server error", "Sorry.").body, {}
            return None if trouble[1] == "lost" else (status, reply, headers)

    def _checked(self, check: Callable[[], None]) -> None:
        try:
            check()
        except AssertionError as fault:
            self.invalid.append(str(fault))
