"""Keys of endpoints: encrypted, and sent to their own host only."""

from __future__ import annotations

import pytest

from annotator.core.outgoing.hosts import (
    origin_of,
)
from evaluation.providers.keys import KeyRefused, key_from_variable, key_open, key_seal

HOME = origin_of("https://api.example.com/v1")


def test_a_stored_key_is_encrypted_and_bound_to_its_host() -> None:
    sealed = key_seal(key="sk-very-secret", origin=HOME, secrets=["new"])
    assert b"very-secret" not in sealed
    assert key_open(sealed=sealed, origin=HOME, secrets=["newer", "new"]) == "sk-very-secret"
    for changed in ("https://evil.example/v1", "http://api.example.com/v1", "https://api.example.com:444/v1"):
        with pytest.raises(KeyRefused):
            key_open(sealed=sealed, origin=origin_of(changed), secrets=["new"])
    with pytest.raises(KeyRefused, match="secret key"):
        key_open(sealed=sealed, origin=HOME, secrets=["another"])


def test_only_offered_variables_are_sent_and_only_to_their_host() -> None:
    known = {"LLM_KEY": ("api.example.com", "sk-1"), "EMPTY": ("api.example.com", "")}
    assert key_from_variable(variable="LLM_KEY", origin=HOME, known=known) == "sk-1"
    for variable, origin in [
        ("SECRET_KEY", HOME),
        ("EMPTY", HOME),
        ("LLM_KEY", origin_of("https://evil.example")),
    ]:
        with pytest.raises(KeyRefused) as caught:
            key_from_variable(variable=variable, origin=origin, known=known)
        assert "sk-1" not in str(caught.value)
