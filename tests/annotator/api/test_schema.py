"""The API does what its schema says: random requests generated from the schema cause no server error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from annotator.api.schema_made import schema_made
from annotator.services.api_tokens import api_token_make
from foretell.wsgi import application
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
schema = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
schema.app = application
OPERATIONS = {found.ok().label: found.ok() for found in schema.get_all_operations()}


def takes_something(operation: Any) -> bool:
    """Whether there is anything to get wrong."""
    return any(len(list(part)) for part in (operation.path_parameters, operation.query, operation.body))


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Requests stay in the test's transaction, as those of Django's own test client do."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def token(db: None, one_connection: None) -> str:
    user = make_user("fuzz", staff=True)
    study = make_study(by=user, slug="fuzz")
    make_judgment(make_item(study), make_rater("ann"))
    return api_token_make(user=user)


@pytest.mark.django_db
def test_the_schema_is_made_once_for_a_process_and_in_english(client: Client) -> None:
    texts = [
        client.get(
            "/api/v1/schema/?format=json&lang=" + language, headers={"accept-language": language}
        ).content
        for language in ("en", "de")
    ]
    assert texts[0] == texts[1]
    assert schema_made.cache_info().misses == 1


def test_the_schema_has_no_warnings(tmp_path: Path) -> None:
    file = tmp_path / "schema.yaml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(file))
    assert file.read_text().startswith("openapi: 3.")


@pytest.mark.parametrize(
    ("label", "mode"),
    [(label, GenerationMode.POSITIVE) for label in OPERATIONS]
    + [(label, GenerationMode.NEGATIVE) for label, one in OPERATIONS.items() if takes_something(one)],
)
def test_random_requests_cause_no_server_error(label: str, mode: GenerationMode, token: str) -> None:
    """Whatever is sent: no server error, and only replies that the schema names."""

    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode))
    @settings(
        max_examples=6,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Any) -> None:
        cache.clear()
        if "slug" in (case.path_parameters or {}):
            case.path_parameters["slug"] = "fuzz"
        response = case.call(headers={"Authorization": f"Token {token}"})
        case.validate_response(response, checks=CHECKS)

    ask()
