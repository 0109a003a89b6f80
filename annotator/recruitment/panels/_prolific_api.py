"""Prolific's API: its addresses, fields, statuses and actions, as its OpenAPI description of July 2026 has them.

Source: https://docs.prolific.com/api-reference. Amounts there are in hundredths of the account's currency.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NoReturn

from annotator.recruitment.api import (
    APPROVE,
    ASK_RETURN,
    DRAFT,
    ENDED,
    LIVE,
    OTHER,
    PAUSE,
    PAUSED,
    PUBLISH,
    RESUME,
    REVIEW,
    SCREEN_OUT,
    STOP,
    Account,
    AccountBalance,
    BonusesSetUp,
    Chosen,
    Filter,
    Hook,
    Named,
    PanelApi,
    PanelApiError,
    PlannedCode,
    RemoteStudy,
    RemoteSubmission,
    StudyPlan,
)
from annotator.recruitment.requests import ApiRequests
from annotator.recruitment.webhooks import status_read

STATES = {
    "UNPUBLISHED": DRAFT, "ACTIVE": LIVE, "PUBLISHING": LIVE, "PAUSED": PAUSED, "AWAITING REVIEW": ENDED, "COMPLETED": ENDED,
}  # fmt: skip
MOVES = {PUBLISH: ("PUBLISH", LIVE), PAUSE: ("PAUSE", PAUSED), RESUME: ("START", LIVE), STOP: ("STOP", ENDED)}
ACTION_NAMES = {
    REVIEW: "MANUALLY_REVIEW", APPROVE: "AUTOMATICALLY_APPROVE", ASK_RETURN: "REQUEST_RETURN",
    SCREEN_OUT: "FIXED_SCREEN_OUT_PAYMENT",
}  # fmt: skip
#: The study's field of a code -> what Prolific calls that kind of code, and why it asks for a return.
CODES = {
    "completion_code": ("COMPLETED", "You haven't done the tasks of this study."),
    "screened_out_code": ("SCREENED_OUT", "You didn't pass the exam of this study. This isn't a rejection."),
    "nothing_left_code": ("OTHER", "Every task was taken when you came. We're sorry."),
    "partly_code": ("OTHER", "You stopped before the end. We pay what you have done as a bonus."),
    "declined_code": ("NO_CONSENT", "You didn't agree to take part, or left before your first task."),
    "stopped_code": ("OTHER", "The study was paused or closed when you came. We're sorry."),
}
#: Webhooks that the panel reads.
EVENTS = ("submission.status.change", "study.status.change")
#: Filters whose choices are participant groups and earlier studies. The description of the API has the form of a filter, but no list of
#: filters: these two ids aren't verified by it (docs/recruitment.md tells researchers to look at the draft).
GROUP_ALLOWED, EARLIER_BLOCKED = "participant_group_allowlist", "previous_studies_blocklist"
PAGE, MOST_PAGES = 100, 1_000
PEOPLE_AT_ONCE = 500


class ProlificApi(PanelApi):
    """Prolific's API with one token."""

    group_filter, earlier_filter = GROUP_ALLOWED, EARLIER_BLOCKED
    pays = True

    def __init__(self, requests: ApiRequests) -> None:
        self.requests = requests

    def account(self) -> Account:
        me = self._get("/api/v1/users/me/")
        spaces = self._results("/api/v1/workspaces/")
        return Account(
            _text(me, "id"), tuple(Named(_text(space, "id"), _text(space, "title")) for space in spaces)
        )

    def projects(self, workspace: str) -> tuple[Named, ...]:
        found = self._results(f"/api/v1/workspaces/{_id(workspace)}/projects/")
        return tuple(Named(_text(one, "id"), _text(one, "title")) for one in found)

    def balance(self, workspace: str) -> AccountBalance:
        found = self._get(f"/api/v1/workspaces/{_id(workspace)}/balance/")
        return AccountBalance(_money(found.get("available_balance")), str(found.get("currency_code") or ""))

    def filters(self, workspace: str) -> tuple[Filter, ...]:
        found = self._results("/api/v1/filters/", workspace_id=workspace)
        return tuple(_filter(one) for one in found if one.get("filter_id") and one.get("title"))

    def payload(self, plan: StudyPlan) -> dict[str, Any]:
        return {
            "name": plan.title,
            "internal_name": plan.reference,
            "description": plan.description,
            "external_study_url": plan.url,
            "is_external_study_url_secure": plan.secured,
            "prolific_id_option": "url_parameters",
            "completion_codes": [_code_sent(code) for code in plan.codes],
            "total_available_places": plan.places,
            "estimated_completion_time": plan.minutes,
            "reward": _cents(plan.reward),
            "device_compatibility": list(plan.devices),
            "filters": [_chosen_sent(one) for one in plan.filters],
            **({"project": plan.project} if plan.project else {}),
        }

    def cost(self, plan: StudyPlan) -> Decimal:
        asked = {"reward": _cents(plan.reward), "total_available_places": plan.places}
        found = self.requests.send("POST", "/api/v1/study-cost-calculator/", content=asked, repeatable=True)
        return _money(_object(found.content).get("total_cost"))

    def recruitment_time(self, plan: StudyPlan) -> str:
        asked = {
            "filters": [_chosen_sent(one) for one in plan.filters], "workspace_id": plan.workspace,
            "reward": _cents(plan.reward), "study_type": "SINGLE", "total_available_places": plan.places,
            "estimated_completion_time": plan.minutes, "device_compatibility": list(plan.devices),
        }  # fmt: skip
        found = self.requests.send(
            "POST", "/api/v1/studies/predicted-recruitment-time/", content=asked, repeatable=True
        )
        return str(_object(found.content).get("display_string") or "")[:100]

    def study_create(self, plan: StudyPlan) -> RemoteStudy:
        for result in self._results("/api/v1/studies/"):
            if result.get("internal_name") == plan.reference and _state(result) == DRAFT:
                return self.study(_text(result, "id"))
        return _study(self.requests.send("POST", "/api/v1/studies/", content=self.payload(plan)).content)

    def study(self, study: str) -> RemoteStudy:
        return _study(self._get(f"/api/v1/studies/{_id(study)}/"))

    def study_change(self, study: str, plan: StudyPlan, names: Sequence[str]) -> RemoteStudy:
        whole = self.payload(plan)
        changed = {field: whole[field] for name in names for field in (FIELDS[name],)}
        path = f"/api/v1/studies/{_id(study)}/"
        return _study(self.requests.send("PATCH", path, content=changed).content)

    def study_move(self, study: str, transition: str) -> RemoteStudy:
        action, reached = MOVES[transition]
        path = f"/api/v1/studies/{_id(study)}/transition/"
        try:
            return _study(self.requests.send("POST", path, content={"action": action}).content)
        except PanelApiError as error:
            if not error.uncertain and error.status != 400:
                raise
            # The reply was lost, or somebody was quicker: the state tells whether it was carried out.
            found = self.study(study)
            if found.state != reached:
                raise
            return found

    def submissions(self, study: str) -> tuple[RemoteSubmission, ...]:
        found: dict[str, RemoteSubmission] = {}
        for page in range(1, MOST_PAGES + 1):
            rows = self._results("/api/v1/submissions/", study=study, page_size=PAGE, page=page)
            new = {one.id: one for one in map(_submission, rows) if one.id not in found}
            found |= new
            if len(rows) < PAGE or not new:
                break
        return tuple(found.values())

    def submissions_approve(self, submissions: Sequence[str]) -> None:
        path, content = (
            "/api/v1/submissions/bulk-approve/",
            {"submission_ids": [_id(submission) for submission in submissions]},
        )
        self.requests.send("POST", path, content=content, repeatable=True)

    def bonuses_set_up(self, study: str, amounts: Sequence[tuple[str, Decimal]]) -> BonusesSetUp:
        lines = "".join(f"{_id(person)},{amount:.2f}\n" for person, amount in amounts)
        content = {"study_id": _id(study), "csv_bonuses": lines}
        path = "/api/v1/submissions/bonus-payments/"
        made = _object(self.requests.send("POST", path, content=content, repeatable=True).content)
        return BonusesSetUp(_text(made, "id"), _money(made.get("total_amount")))

    def bonuses_pay(self, bonuses: str) -> None:
        self.requests.send("POST", f"/api/v1/bulk-bonus-payments/{_id(bonuses)}/pay/")

    def bonuses_of(self, submission: str) -> tuple[Decimal, ...]:
        paid = self._get(f"/api/v1/submissions/{_id(submission)}/").get("bonus_payments") or []
        return tuple(map(_money, paid)) if isinstance(paid, list) else _unreadable("a list of bonuses")

    def submission_approve(self, submission: str) -> RemoteSubmission:
        return self._submission_move(submission, {"action": "APPROVE"})

    def submission_reject(self, submission: str, *, reason: str, text: str) -> RemoteSubmission:
        content = {"action": "REJECT", "message": text, "rejection_category": reason}
        return self._submission_move(submission, content)

    def submission_unreject(self, submission: str) -> RemoteSubmission:
        return self._submission_move(submission, {"action": "UNREJECT"})

    def _submission_move(self, submission: str, content: dict[str, Any]) -> RemoteSubmission:
        """The description says that a repeated transition is ignored, so it may be sent again."""
        path = f"/api/v1/submissions/{_id(submission)}/transition/"
        return _submission(
            _object(self.requests.send("POST", path, content=content, repeatable=True).content)
        )

    def return_ask(self, submission: str, *, text: str) -> None:
        path = f"/api/v1/submissions/{_id(submission)}/"
        try:
            self.requests.send("POST", f"{path}request-return/", content={"request_return_reasons": [text]})
        except PanelApiError as error:
            if not error.uncertain or not self._get(path).get("return_requested"):
                raise

    def message_send(self, *, study: str, people: Sequence[str], text: str) -> None:
        for first in range(0, len(people), PEOPLE_AT_ONCE):
            content = {"ids": list(people[first : first + PEOPLE_AT_ONCE]), "body": text, "study_id": study}
            self.requests.send("POST", "/api/v1/messages/bulk/", content=content)

    def group_fill(self, *, workspace: str, group: str, name: str, people: Sequence[str]) -> str:
        path = "/api/v1/participant-groups/"
        if not group:
            known = self._results(path, workspace_id=workspace)
            group = next((_text(one, "id") for one in known if one.get("name") == name), "")
        if not group:
            content = {"workspace_id": workspace, "name": name, "participant_ids": []}
            group = _text(_object(self.requests.send("POST", path, content=content).content), "id")
        for first in range(0, len(people), PEOPLE_AT_ONCE):
            some = {"participant_ids": list(people[first : first + PEOPLE_AT_ONCE])}
            self.requests.send("POST", f"{path}{_id(group)}/participants/", content=some, repeatable=True)
        return group

    def hooks(self, *, workspace: str, url: str) -> tuple[Hook, ...]:
        mine = self._hooks(workspace, url, enabled=True)
        return tuple(Hook(_text(one, "id"), _text(one, "event_type")) for one in mine)

    def hooks_set_up(self, *, workspace: str, url: str) -> tuple[str, tuple[Hook, ...]]:
        secret = self._secret(workspace)
        for hook in self._hooks(workspace, url, enabled=False):  # never confirmed, or switched off
            self.requests.send("DELETE", f"/api/v1/hooks/subscriptions/{_id(_text(hook, 'id'))}/")
        there = {hook.kind: hook for hook in self.hooks(workspace=workspace, url=url)}
        for kind in EVENTS:
            if kind not in there:
                there[kind] = self._subscribe(workspace, url, kind)
        return secret, tuple(there[kind] for kind in EVENTS)

    def _hooks(self, workspace: str, url: str, *, enabled: bool) -> list[dict[str, Any]]:
        path, wanted = "/api/v1/hooks/subscriptions/", str(enabled).lower()
        found = self._results(path, workspace_id=workspace, is_enabled=wanted)
        return [
            one for one in found
            if one.get("target_url") == url and one.get("event_type") in EVENTS and one.get("is_enabled", enabled) is enabled
        ]  # fmt: skip

    def _secret(self, workspace: str) -> str:
        """The secret of the workspace. Only created where there is none: a new one would replace that of everybody else there."""
        path = "/api/v1/hooks/secrets/"
        for result in self._results(path, workspace_id=workspace):
            if result.get("workspace_id", workspace) == workspace and result.get("value"):
                return _text(result, "value")
        made = self.requests.send("POST", path, content={"workspace_id": workspace})
        return _text(_object(made.content), "value")

    def _subscribe(self, workspace: str, url: str, kind: str) -> Hook:
        path = "/api/v1/hooks/subscriptions/"
        content = {"workspace_id": workspace, "event_type": kind, "target_url": url}
        reply = self.requests.send("POST", path, content=content)
        made = _object(reply.content)
        listed = made.get("results")  # the description says a list, its examples show the subscription itself
        hook = _text(listed[0] if isinstance(listed, list) and listed else made, "id")
        confirmation = {"secret": reply.headers.get("X-Hook-Secret", "")}
        self.requests.send("POST", f"{path}{_id(hook)}/", content=confirmation, repeatable=True)
        return Hook(hook, kind)

    def _get(self, path: str, **query: Any) -> dict[str, Any]:
        return _object(self.requests.send("GET", path, query=query).content)

    def _results(self, path: str, **query: Any) -> list[dict[str, Any]]:
        found = self._get(path, **query).get("results")
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            _unreadable("a list of results")
        return found


#: A plan's value -> the field that has it.
FIELDS = {
    "title": "name", "description": "description", "url": "external_study_url", "secured": "is_external_study_url_secure",
    "minutes": "estimated_completion_time", "reward": "reward", "places": "total_available_places",
    "devices": "device_compatibility", "codes": "completion_codes", "filters": "filters",
}  # fmt: skip


def _study(content: Any) -> RemoteStudy:
    found = _object(content)
    return RemoteStudy(
        id=_text(found, "id"),
        state=_state(found),
        status=str(found.get("status") or "")[:40],
        places=int(found.get("total_available_places") or 0),
        values={
            "title": found.get("name") or "",
            "description": found.get("description") or "",
            "url": found.get("external_study_url") or "",
            "secured": bool(found.get("is_external_study_url_secure")),
            "minutes": int(found.get("estimated_completion_time") or 0),
            "reward": _money(found.get("reward")),
            "places": int(found.get("total_available_places") or 0),
            "devices": sorted(found.get("device_compatibility") or []),
            "codes": {
                str(completion_code.get("code")): _action_of(completion_code)
                for completion_code in found.get("completion_codes") or []
            },
        },
    )


def _state(found: Mapping[str, Any]) -> str:
    return STATES.get(str(found.get("status") or ""), OTHER)


def _action_of(code: Mapping[str, Any]) -> str:
    names = [action.get("action") for action in code.get("actions") or []]
    return next((ours for ours, theirs in ACTION_NAMES.items() if theirs in names), "")


def _code_sent(code: PlannedCode) -> dict[str, Any]:
    kind, reason = CODES[code.field]
    action: dict[str, Any] = {"action": ACTION_NAMES[code.action]}
    if code.action == ASK_RETURN:
        action["return_reason"] = reason
    if code.action == SCREEN_OUT:
        kind = "FIXED_SCREENOUT"
        action |= {"fixed_screen_out_reward": _cents(code.reward or Decimal(0)), "slots": code.slots}
    actions = [action]
    if code.group:
        actions.append({"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": code.group})
    return {"code": code.code, "code_type": kind, "actor": "participant", "actions": actions}


def _chosen_sent(chosen: Chosen) -> dict[str, Any]:
    if chosen.values:
        return {"filter_id": chosen.filter_id, "selected_values": list(chosen.values)}
    bounds = {"lower": chosen.lower, "upper": chosen.upper}
    given = {name: _number(value) for name, value in bounds.items() if value is not None}
    return {"filter_id": chosen.filter_id, "selected_range": given}


def _filter(found: Mapping[str, Any]) -> Filter:
    choices = found.get("choices")
    named = {str(key): str(value) for key, value in choices.items()} if isinstance(choices, dict) else {}
    least, most = (
        float(value) if isinstance(value, int | float) else None
        for value in (found.get("min"), found.get("max"))
    )
    return Filter(str(found["filter_id"]), str(found["title"]), named, least, most)


def _submission(found: Mapping[str, Any]) -> RemoteSubmission:
    try:
        started = datetime.fromisoformat(str(found.get("started_at")))
    except ValueError:
        started = None
    person = found.get("participant_id") or found.get("participant")
    return RemoteSubmission(
        id=_text(found, "id"),
        person=str(person or ""),
        status=status_read(str(found.get("status") or "")),
        started_at=started if started is not None and started.tzinfo else None,
        code=str(found.get("study_code") or found.get("entered_code") or "")[:64],
    )


def _object(content: Any) -> dict[str, Any]:
    return content if isinstance(content, dict) else _unreadable("an object")


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) and 0 < len(value) <= 500 else _unreadable(f"“{name}”")


def _unreadable(expected: str) -> NoReturn:
    raise PanelApiError(
        f"Prolific's reply isn't what its API describes: expected {expected}.", uncertain=True
    )


def _id(text: str) -> str:
    """An id as a part of an address. Ids are from Prolific or from researchers: nothing else may get into a path."""
    if not re.fullmatch(r"[0-9A-Za-z_-]{1,100}", text):
        raise PanelApiError(f"“{text[:40]}” can't be an id on Prolific.")
    return text


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _cents(amount: Decimal) -> int:
    """
    >>> _cents(Decimal("3.105"))
    311
    """
    return int((amount * 100).quantize(Decimal(1), rounding="ROUND_HALF_UP"))


def _money(cents: Any) -> Decimal:
    if not isinstance(cents, int | float):
        _unreadable("an amount")
    return (Decimal(str(cents)) / 100).quantize(Decimal("0.01"))
