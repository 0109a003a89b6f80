"""Numbers out of range are refused by forms and the API; the error gives the range."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotator.core.ranges import InRange
from annotator.models import Rater, Study, User
from annotator.services.payment import bonus_give
from annotator.services.study import study_update
from evaluation.models import Endpoint, Run
from evaluation.runs.request import RANGES, parameters_check
from evaluation.services.endpoint import endpoint_save
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
HUGE = 10**30
#: field of a study -> (values that no study can mean, what the error says)
STUDY = {
    "redundancy": ([0, 101, HUGE, -1], "from 1 to 100"),
    "seed": ([-1, 2**31, HUGE], "from 0 to 2,147,483,647"),
    "lease_minutes": ([0, 10_081, HUGE], "from 1 to 10,080"),
    "max_items_per_rater": ([0, 10**12], "from 1 to 1,000,000"),
    "exam_questions": ([501, 10**12], "from 0 to 500"),
    "exam_attempts": ([0, 101, HUGE], "from 1 to 100"),
    "exam_wait_minutes": ([-1, 43_201, HUGE], "from 0 to 43,200"),
    "minutes_per_item": ([0, 1441, "nan", "inf", HUGE], "from 0.01 to 1,440"),
    "min_seconds": ([-1, 3601, "nan", "-inf"], "from 0 to 3,600"),
    "undo_seconds": ([-1, 3601, HUGE], "from 0 to 3,600"),
    "pay_per_item": (["-0.01", HUGE, "NaN"], "from 0 to 9,999"),
    "pay_floor_per_hour": (["-1", HUGE], "from 0 to 100,000"),
    "exam_pay": (["-1", HUGE], "from 0 to 100,000"),
    "retention_days": ([0, 36_501, HUGE], "from 1 to 36,500"),
}
CASES = [(name, value, says) for name, (values, says) in STUDY.items() for value in values]


@pytest.fixture
def mine(researcher: User) -> Study:
    return make_study(by=researcher, slug="mine")


@pytest.mark.parametrize(("name", "value", "says"), CASES)
def test_a_study_refuses_values_out_of_range(
    mine: Study, researcher: User, name: str, value: Any, says: str
) -> None:
    number = float(value) if isinstance(value, str) and name in ("minutes_per_item", "min_seconds") else value
    with pytest.raises(ValidationError) as refused:
        study_update(study=mine, by=researcher, **{name: number})
    errors = " ".join(refused.value.message_dict[name])
    # A decimal with too many digits, or NaN, isn't even a value of the field.
    assert says in errors or "digits" in errors or "decimal number" in errors
    client = Client()
    client.force_login(researcher)
    by_api = client.patch("/api/v1/studies/mine/", {name: value}, content_type="application/json")
    assert by_api.status_code == 400
    assert name in by_api.json()["errors"]
    by_form = client.post(reverse("admin:annotator_study_change", args=[mine.pk]), {name: str(value)})
    assert by_form.status_code == 400
    assert name in by_form.context["form"].errors


@pytest.mark.parametrize("name", ["lease_minutes", "exam_attempts", "undo_seconds", "redundancy"])
def test_the_database_refuses_values_out_of_range(mine: Study, name: str) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Study.objects.filter(pk=mine.pk).update(**{name: 32_000})


PARAMETERS = [
    ("max_tokens", HUGE), ("max_tokens", 0), ("max_tokens", 1.5), ("max_tokens", "many"), ("n", 10**12), ("n", True),
    ("temperature", 9), ("temperature", -1), ("temperature", float("nan")), ("temperature", float("inf")),
    ("temperature", "hot"), ("top_p", 2), ("seed", 2**63), ("presence_penalty", 3), ("top_k", 10**9),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), PARAMETERS)
def test_a_request_parameter_out_of_range_is_refused(mine: Study, name: str, value: Any) -> None:
    allowed = RANGES[name][1]
    says = f"from {allowed.least:,} to {allowed.most:,}"
    with pytest.raises(ValueError, match=says):
        parameters_check({name: value})
    endpoint = Endpoint(
        workspace=mine.workspace,
        name="e",
        base_url="https://api.openai.com/v1",
        model="m",
        parameters={name: value},
    )
    with pytest.raises(ValidationError, match=says):
        endpoint_save(endpoint=endpoint)


def test_the_error_about_a_huge_number_is_short() -> None:
    with pytest.raises(ValueError, match="got ") as refused:
        parameters_check({"max_tokens": 10**300})
    assert len(str(refused.value)) < 120


ENDPOINT = {
    "concurrency": [0, 1_001, HUGE], "requests_per_minute": [0, 10**12], "tokens_per_minute": [0, 10**12],
    "price_in": [-1, HUGE], "price_out": [-1, HUGE], "price_cached": [-1], "timeout_seconds": [0, 3601, float("nan")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, one) for name, found in ENDPOINT.items() for one in found]
)
def test_an_endpoint_refuses_values_out_of_range(mine: Study, name: str, value: Any) -> None:
    endpoint = Endpoint(
        workspace=mine.workspace, name="e", base_url="https://api.openai.com/v1", model="m", **{name: value}
    )
    with pytest.raises(ValidationError) as refused:
        endpoint_save(endpoint=endpoint)
    assert name in refused.value.message_dict


RUN = {
    "samples": [0, 101, HUGE], "together": [0, 51, HUGE], "workers": [0, 33, HUGE], "max_failed_share": [-1, 2, "nan"],
    "budget_calls": [-1, 2**31, HUGE], "budget_cost": [-1, HUGE, "NaN"], "parameters": [{"n": 10**12}],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, one) for name, found in RUN.items() for one in found])
def test_the_api_creates_no_run_with_values_out_of_range(researcher: User, name: str, value: Any) -> None:
    study = make_study(by=researcher, slug="mine", items=1)
    Endpoint.objects.create(
        workspace=study.workspace, name="e", base_url="http://127.0.0.1:9/v1", model="scripted"
    )
    client = Client()
    client.force_login(researcher)
    reply = client.post(
        "/api/v1/studies/mine/runs/", {"endpoint": "e", name: value}, content_type="application/json"
    )
    assert reply.status_code == 400, reply.content
    assert name in reply.json()["errors"]
    assert not Run.objects.exists()


@pytest.mark.parametrize("amount", ["-1", "0", "1e30", "NaN", "Infinity", "0.001"])
def test_a_bonus_out_of_range_is_refused(researcher: User, amount: str) -> None:
    study = make_study(by=researcher, items=1, launched=True)
    rater = make_participation(study, make_user("ann")).rater
    client = Client()
    client.force_login(researcher)
    page = reverse("admin:study_bonus", args=[study.pk, rater.pk])
    assert client.post(page, {"amount": amount, "reason": "x"}).status_code == 400
    assert not study.ledger.exists()


def test_the_service_refuses_a_bonus_out_of_range(researcher: User) -> None:
    study = make_study(by=researcher, items=1, launched=True)
    rater: Rater = make_participation(study, make_user("ann")).rater
    for amount in (Decimal("1e30"), Decimal("NaN"), Decimal("Infinity"), Decimal(200_000)):
        with pytest.raises(ValidationError, match=r"from 0\.01 to 100,000"):
            bonus_give(study=study, rater=rater, by=researcher, amount=amount, reason="x")


@pytest.mark.parametrize("value", [float("nan"), True, "1", None, 11, -1])
def test_values_out_of_range_are_recognised(value: Any) -> None:
    assert not InRange(0, 10).holds(value)
