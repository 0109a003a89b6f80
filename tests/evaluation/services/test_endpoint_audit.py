"""What the audit trail records of an endpoint."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.models import AuditAction, AuditEntry
from evaluation.models import Endpoint
from evaluation.services.endpoint import AUDITED, endpoint_save

pytestmark = pytest.mark.django_db
#: The row's owner, its key and headers, which have entries of their own, and what runs store about it.
OTHER = {
    "id", "workspace", "key_encrypted", "headers", "created_at", "trouble", "tokens_due", "requests_due", "window",
    "failing_calls", "failing_since", "hold_until",
}  # fmt: skip


def make_endpoint() -> Endpoint:
    endpoint = Endpoint(name="main", base_url="http://llm.lab:8000/v1", model="m")
    return endpoint_save(endpoint=endpoint)


def test_every_setting_of_an_endpoint_is_recorded() -> None:
    fields = {field.name for field in Endpoint._meta.concrete_fields}
    assert fields - set(AUDITED) - OTHER == set()


def test_changed_headers_are_recorded_without_their_values(settings: Any) -> None:
    settings.LLM_ALLOWED_HOSTS = ["llm.lab:8000"]
    endpoint = make_endpoint()
    endpoint.headers = {"X-Project": "explanations"}
    endpoint_save(endpoint=endpoint)
    endpoint.headers = {"X-Project": "another"}
    endpoint_save(endpoint=endpoint)
    endpoint_save(endpoint=endpoint)
    first, second = [
        entry
        for entry in AuditEntry.objects.filter(action=AuditAction.ENDPOINT_SAVED).order_by("id")
        if "headers" in entry.after
    ]
    assert first.before == {"headers": {}}
    assert list(first.after["headers"]) == ["X-Project"]
    assert second.before == first.after != second.after
    assert "explanations" not in str([first.after, second.before])
