"""What we send to Prolific is what its published description allows, and the check of that can fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.prolific_cases import FILE, cases
from tests.prolific_description import Description, description

RECORDED = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def known() -> Description:
    found = description()
    if found is None:
        pytest.skip("Prolific's description isn't at hand; recorded cases are compared instead")
    return found


def test_every_kind_of_message_is_as_recorded() -> None:
    """A change of what is sent must be recorded again, with the description at hand: ``python -m tests.prolific_cases``."""
    kept = ("method", "path", "body", "status", "reply")
    assert cases() == [{name: case[name] for name in kept} for case in RECORDED]
    assert {case["request_schema"] for case in RECORDED} >= {
        "CreateStudy", "BaseStudy", "StudyTransition", "StudyCostRequest", "SubscriptionDetail", "SubscriptionConfirmation",
        "CreateSecret", "ParticipantIDList", "StudyPredictedRecruitmentTimeRequest",
        "Submissions_BulkApproveSubmissions_Request",
        "SubmissionTransition", "SendBulkMessage",
    }  # fmt: skip


def test_recorded_messages_are_valid(known: Description) -> None:
    for case in RECORDED:
        known.request_check(case["method"], case["path"], case["body"])
        known.reply_check(case["method"], case["path"], case["status"], case["reply"])
        assert known.schemas(case["method"], case["path"]).items() <= case.items()


def _created() -> dict[str, Any]:
    [case] = [case for case in RECORDED if case["request_schema"] == "CreateStudy"]
    return json.loads(json.dumps(case["body"]))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda body: body.pop("reward"), "'reward' is a required property"),
        (lambda body: body.update(colour="blue"), "colour"),
        (lambda body: body.update(reward="2.40"), "is not of type 'number'"),
        (lambda body: body["completion_codes"][0].update(code_type="DONE"), "is not one of"),
        (lambda body: body["completion_codes"][0]["actions"][0].update(action="PAY"), "completion_codes"),
        (lambda body: body.update(device_compatibility=["watch"]), "'watch' is not one of"),
        (lambda body: body.update(filters=[{"filter_id": "age"}]), "filters"),
    ],
)
def test_an_invalid_request_is_found(known: Description, change: Any, fault: str) -> None:
    body = _created()
    known.request_check("POST", "/api/v1/studies/", body)
    change(body)
    with pytest.raises(AssertionError, match=fault):
        known.request_check("POST", "/api/v1/studies/", body)


def test_an_invalid_address_query_and_reply_are_found(known: Description) -> None:
    with pytest.raises(AssertionError, match="has no GET"):
        known.request_check("GET", "/api/v1/owls/", None)
    with pytest.raises(AssertionError, match="unknown parameters"):
        known.request_check("GET", "/api/v1/submissions/?study=x&colour=blue", None)
    with pytest.raises(AssertionError, match="missing"):
        known.request_check("GET", "/api/v1/submissions/", None)
    with pytest.raises(AssertionError, match="a body where none belongs"):
        known.request_check("GET", "/api/v1/users/me/", {})
    with pytest.raises(AssertionError, match="'email' is a required property"):
        known.reply_check("GET", "/api/v1/users/me/", 200, {"id": "x"})
    with pytest.raises(AssertionError, match="isn't described"):
        known.reply_check("GET", "/api/v1/users/me/", 204, None)
    with pytest.raises(AssertionError, match="'error' is a required property"):
        known.reply_check("GET", "/api/v1/users/me/", 400, {"detail": "no"})
