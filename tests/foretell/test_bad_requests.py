"""Malformed requests: each gets a clear 4xx in the right form, none an error page."""

from __future__ import annotations

import itertools

import pytest
from django.contrib import admin
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError
from django.test import Client
from django.urls import reverse

from annotator.models import LedgerEntry, User
from annotator.services.workspace import workspace_personal
from foretell.errors import is_unavailable
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db
NUL = "%00"


@pytest.fixture
def researcher(client: Client) -> Client:
    client.raise_request_exception = False
    client.force_login(User.objects.create_superuser("root-of-lab"))
    return client


@pytest.mark.parametrize(
    "path",
    [
        f"/join/{NUL}/",
        f"/join/abc{NUL}def/",
        f"/reports/1/files/a{NUL}.png",
        f"/admin/autocomplete/?app_label=annotator&model_name=item&field_name=study&term={NUL}",
        f"/admin/annotator/item/?q={NUL}",
        f"/admin/evaluation/report/add/?studies={NUL}",
        f"/admin/annotator/study/{NUL}/change/",
        f"/api/v1/studies/?search={NUL}",
        f"/api/v1/studies/{NUL}/",
    ],
)
def test_a_nul_character_in_an_address_is_a_bad_request(researcher: Client, path: str) -> None:
    response = researcher.get(path)
    assert response.status_code == 400, path
    if path.startswith("/api/"):
        assert "NUL" in response.json()["detail"]


@pytest.mark.parametrize("page", ["abc", "0", "99999", "-1"])
def test_a_missing_page_of_the_search_is_not_found(researcher: Client, page: str) -> None:
    assert researcher.get(f"/admin/search/?extended=1&s=exclusion&page={page}").status_code == 404


def test_the_search_of_the_admin_finds_pages_again_from_the_cache(researcher: Client) -> None:
    for _ in range(2):
        response = researcher.get("/admin/search/?extended=1&s=exclusion")
        assert response.status_code == 200
        assert reverse("admin:annotator_exclusion_changelist") in response.content.decode()


def admin_changes() -> list[str]:
    return [
        f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        for model in admin.site._registry
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["abc", "9" * 40, "1_0", "-1"])
def test_an_impossible_key_in_the_admin_causes_no_server_error(researcher: Client, key: str) -> None:
    wrong = {}
    for name, page in itertools.product(admin_changes(), ("change", "history", "delete")):
        path = reverse(name, args=[1]).replace("/1/change/", f"/{key}/{page}/")
        if (status := researcher.get(path).status_code) >= 500:
            wrong[path] = status
    assert wrong == {}


@pytest.mark.parametrize(
    "query",
    [
        "created_at__year=99999",
        "created_at__year=0",
        "created_at__year=2026&created_at__month=13",
        "created_at__year=2026&created_at__month=2&created_at__day=31",
        "created_at__year=abc",
        "id__exact=99999999999999999999999",
        "p=99999999999999999999999",
        "o=1.99999999999",
        "created_at__gte=99999-01-01",
        "studies=abc",
    ],
)
def test_an_impossible_filter_in_the_admin_causes_no_server_error(researcher: Client, query: str) -> None:
    wrong = {}
    for model in admin.site._registry:
        path = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") + f"?{query}"
        if (status := researcher.get(path).status_code) >= 500:
            wrong[path] = status
    assert wrong == {}


@pytest.mark.parametrize("depth", [2_000, 100_000])
@pytest.mark.parametrize("inside", ["[", '{"a":'])
def test_deeply_nested_json_in_a_body_is_a_bad_request(researcher: Client, depth: int, inside: str) -> None:
    study = make_study()
    body = inside * depth
    whole = body + ("]" if inside == "[" else "1" + "}") * depth
    for method, path in (("POST", "/api/v1/studies/"), ("PATCH", f"/api/v1/studies/{study.slug}/")):
        for text in (body, whole):
            response = researcher.generic(method, path, text, content_type="application/json")
            assert response.status_code == 400, (path, response.content[:200])
            assert response.headers["Content-Type"] == "application/json"


def test_deeply_nested_json_in_a_form_is_a_bad_request(researcher: Client) -> None:
    fields = {
        "name": "e", "base_url": "https://api.openai.com/v1", "model": "m", "concurrency": 1,
        "price_in": 1, "price_out": 1, "timeout_seconds": 60, "parameters": '{"a":' * 100_000,
    }  # fmt: skip
    response = researcher.post(reverse("admin:evaluation_endpoint_add"), fields)
    assert response.status_code in (200, 400)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("key_variable", "SECRET_KEY", "SECRET_KEY"),
        ("base_url", "https://api.openai.com/v1\nHost: evil", "line breaks"),
        ("base_url", "https://api.openai.com\x7f/v1", "control characters"),
    ],
)
def test_an_impossible_endpoint_is_refused_in_its_form(
    researcher: Client, field: str, value: str, said: str
) -> None:
    fields = {
        "name": "e", "base_url": "https://api.openai.com/v1", "model": "m", "concurrency": 1,
        "price_in": 1, "price_out": 1, "timeout_seconds": 60, "parameters": "{}",
    }  # fmt: skip
    response = researcher.post(reverse("admin:evaluation_endpoint_add"), fields | {field: value})
    assert response.status_code == 200
    assert said in response.content.decode()


@pytest.mark.parametrize("path", ["/api/v1/nothing-here/", "/api/v2/", "/api/"])
def test_an_unknown_api_address_is_a_404_in_json(client: Client, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, response.json()) == (404, {"detail": "Not found."})


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("reference", "a\0b", 400),
        ("reference", "x" * 5000, 302),
        ("owed", "NaN", 302),
        ("owed", "-Infinity", 302),
        ("owed", "1e999999", 302),
        ("rater", "9" * 5000, 302),
    ],
)
def test_an_impossible_payment_is_refused(researcher: Client, field: str, value: str, status: int) -> None:
    study = make_study(items=1, launched=True)
    person = make_participation(study)
    sent = {
        "paid": "1",
        "sure": "1",
        "reference": "batch 9",
        "rater": str(person.rater_id),
        "owed": "0.25",
    } | {field: value}
    sent[f"owed-{person.rater_id}"] = sent.pop("owed")
    response = researcher.post(reverse("admin:study_payments", args=[study.pk]), sent)
    assert response.status_code == status
    assert not LedgerEntry.objects.exists()


@pytest.mark.parametrize(
    "after", ["9999", "a\0b", "x", "annotator:me", "/a\nb", "..", "?", "#", "/" + "x" * 5000]
)
@pytest.mark.parametrize("path", ["/language/", "/login/"])
def test_an_impossible_next_page_causes_no_server_error(researcher: Client, path: str, after: str) -> None:
    assert researcher.post(path, {"language": "de", "next": after}).status_code < 500
    assert researcher.get(path, {"next": after}).status_code < 500


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "٣"])
def test_a_number_that_no_row_has_is_not_found(researcher: Client, number: str) -> None:
    workspace = workspace_personal(user=User.objects.get(username="root-of-lab"))
    response = researcher.post(reverse("admin:workspace_members", args=[workspace.pk]), {"remove": number})
    assert response.status_code in (200, 302)
    study = make_study(items=1, launched=True)
    response = researcher.post(reverse("evaluation:reports", args=[study.pk]), {"others": number})
    assert response.status_code == 404
    assert researcher.get(f"/api/v1/studies/{number}/").status_code == 404


def test_a_number_of_thousands_of_digits_in_json_is_a_bad_request(researcher: Client) -> None:
    study = make_study(items=1)
    path = f"/api/v1/studies/{study.slug}/exclusions/"
    body = f'{{"reason": {"9" * 5000}}}'
    assert researcher.post(path, body, content_type="application/json").status_code == 400


@pytest.mark.parametrize("items", ["", "x", "0", "101"])
def test_an_impossible_number_of_items_for_a_trial_is_reported_in_the_form(
    researcher: Client, items: str
) -> None:
    study = make_study(items=1)
    response = researcher.post(f"/admin/evaluation/run/prompt/{study.pk}/", {"prompt": "x", "items": items})
    assert response.status_code == 200
    assert "<strong>items</strong>: " in response.content.decode()


def postgres_error(state: str | None, kind: type[DatabaseError] = OperationalError) -> DatabaseError:
    error = kind("it failed")
    error.__cause__ = type("Cause", (Exception,), {"sqlstate": state})()
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (postgres_error(None), True),  # no connection
        (postgres_error("57P01"), True),  # the server is shutting down
        (postgres_error("57P03"), True),  # the server is starting
        (postgres_error("53100"), True),  # the disk is full
        (postgres_error("40P01"), True),  # deadlock
        (postgres_error("54001"), False),  # input too complex
        (InterfaceError("connection is closed"), True),
        (postgres_error(None, InternalError), True),  # two replies to one command, from a pooler
        (postgres_error("XX000", InternalError), False),  # Postgres is wrong itself
        (ValueError("anything else"), False),
    ],
)
def test_which_errors_mean_that_a_retry_makes_sense(error: Exception, expected: bool) -> None:
    assert is_unavailable(error) is expected
