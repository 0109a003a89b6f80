"""Every address of the product with what an attacker puts there. New pages are included, since the addresses come from the resolver."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import get_resolver

from annotator.models import User
from annotator.services.assignment import assignment_next
from tests.factories import make_participation, make_study, make_user
from tests.foretell.addresses import VARIABLE, fill, routes

pytestmark = pytest.mark.django_db
HOSTILE = ("%00", "9" * 30, "%ff", "%ed%a0%80", "a%0d%0aSet-Cookie:%20x=y")
QUERIES = (
    "page=%ff&p=" + "9" * 30,
    "pk=%ed%a0%80&item=1e400&rater=NaN",
    "next=https://evil.example/&language=xx",
)
#: Scripts and icons that browsers keep.
MAY_BE_STORED = re.compile(r"^/(favicon\.ico|sw\.js)")


@pytest.fixture
def values() -> dict[str, str]:
    """Values for the variables of paths, so that only the hostile one can be at fault."""
    study = make_study(items=2, launched=True, by=make_user("ada", staff=True))
    assignment = assignment_next(participation=make_participation(study))
    assert assignment is not None
    return {
        "slug": study.slug, "study": study.slug, "token": study.join_token, "pk": str(assignment.pk),
        "study_pk": str(study.pk), "object_id": str(study.pk),
    }  # fmt: skip


@pytest.fixture
def superuser(client: Client) -> Client:
    """A user who may open every page."""
    client.raise_request_exception = False
    client.force_login(User.objects.create_superuser("root-of-lab"))
    return client


def test_no_value_in_a_path_causes_a_server_error(superuser: Client, values: dict[str, str]) -> None:
    wrong, asked = {}, 0
    for route in routes(get_resolver().url_patterns):
        for number in range(len(VARIABLE.findall(route))):
            for instead in HOSTILE:
                path = fill(route, values, number, instead)
                for method in (superuser.get, superuser.post):
                    response = method(path)
                    asked += 1
                    if response.status_code >= 500 or response.cookies.get("x"):
                        wrong[path] = response.status_code
    assert wrong == {}
    assert asked > 1500


def test_no_query_causes_a_server_error_or_redirects_to_another_site_and_no_page_is_stored(
    superuser: Client, values: dict[str, str]
) -> None:
    wrong, stored = {}, set()
    for route in routes(get_resolver().url_patterns):
        path = fill(route, values)
        for query in QUERIES:
            response = superuser.get(f"{path}?{query}")
            if (
                response.status_code >= 500
                or "//evil" in response.headers.get("Location", "").partition("?")[0]
            ):
                wrong[f"{path}?{query}"] = response.status_code
            if response.status_code == 200 and "no-store" not in response.headers.get("Cache-Control", ""):
                stored.add(path)
    assert wrong == {}
    assert {path for path in stored if not MAY_BE_STORED.match(path)} == set()


@pytest.mark.parametrize(
    "away", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_a_login_never_redirects_to_another_site(client: Client, away: str) -> None:
    person = make_user("bea")
    person.set_password("a-long-password-7")
    person.save()
    response = client.post("/login/", {"username": "bea", "password": "a-long-password-7", "next": away})
    assert response.status_code == 302
    assert response["Location"].startswith("/")
    assert "evil" not in response["Location"]
    assert "javascript" not in response["Location"]
