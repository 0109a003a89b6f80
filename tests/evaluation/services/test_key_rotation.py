"""A new secret key: stored API keys are encrypted with it, and the old one is no longer needed."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluation.models import Endpoint
from evaluation.providers.keys import KeyRefused
from evaluation.selectors.endpoint import endpoint_key
from evaluation.services.endpoint import endpoint_save

pytestmark = pytest.mark.django_db
OLD, NEW = "the-old-secret-key-of-this-test", "the-new-secret-key-of-this-test"


@pytest.fixture
def stored(settings: Any) -> list[Endpoint]:
    """Two endpoints whose keys were encrypted with the old secret key; the new one is in place."""
    settings.LLM_ALLOWED_HOSTS = ["llm.lab:8000"]
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []
    made = [
        endpoint_save(
            endpoint=Endpoint(name=name, base_url="http://llm.lab:8000/v1", model="m"), key=f"sk-{name}"
        )
        for name in ("one", "two")
    ]
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
    return made


def rotate(**options: Any) -> str:
    said = io.StringIO()
    call_command("rotate_keys", stdout=said, **options)
    return said.getvalue()


def test_stored_keys_are_readable_with_the_new_secret_alone(stored: list[Endpoint], settings: Any) -> None:
    assert rotate() == "2 keys encrypted with the new secret key; 0 already were.\n"
    settings.SECRET_KEY_FALLBACKS = []
    assert [endpoint_key(one) for one in Endpoint.objects.order_by("name")] == ["sk-one", "sk-two"]
    assert rotate() == "0 keys encrypted with the new secret key; 2 already were.\n"


def test_a_check_changes_nothing_and_fails_while_keys_are_left(stored: list[Endpoint], settings: Any) -> None:
    with pytest.raises(CommandError, match="before you remove SECRET_KEY_FALLBACKS"):
        rotate(check=True)
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(KeyRefused):
        endpoint_key(Endpoint.objects.get(name="one"))
    settings.SECRET_KEY_FALLBACKS = [OLD]
    rotate()
    rotate(check=True)


def test_a_key_that_no_secret_can_decrypt_is_named_and_kept(stored: list[Endpoint], settings: Any) -> None:
    before = bytes(Endpoint.objects.get(name="one").key_encrypted)
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(CommandError, match="one, two"):
        rotate()
    assert bytes(Endpoint.objects.get(name="one").key_encrypted) == before


def test_a_rotation_is_in_the_audit_trail_without_the_key(stored: list[Endpoint]) -> None:
    from annotator.models import AuditEntry

    before = AuditEntry.objects.count()
    rotate()
    entries = AuditEntry.objects.order_by("pk")[before:]
    assert [entry.target for entry in entries] == ["one", "two"]
    assert "sk-" not in str([entry.after for entry in entries])
