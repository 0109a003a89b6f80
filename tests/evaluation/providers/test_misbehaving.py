"""Replies that no correct server sends: each ends as a reply or a named error, within the limits on time and memory."""

from __future__ import annotations

import tracemalloc

import pytest

from evaluation.providers.base import ProviderError
from tests.evaluation.providers.asking import ask, chat
from tests.evaluation.providers.misbehaviour import EXPECTED
from tests.evaluation.scripted.misbehave import KINDS
from tests.evaluation.scripted_process import ScriptedProcess


def test_every_misbehaviour_has_an_expected_outcome() -> None:
    assert set(EXPECTED) == set(KINDS)


@pytest.mark.parametrize("kind", ["gzip_bomb", "flood"])
def test_a_large_reply_takes_little_memory(scripted: ScriptedProcess, kind: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ProviderError):
            ask(scripted, chat(f"scripted?faults=1&kinds={kind}"), timeout=300.0)
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_an_error_in_a_200_reply_keeps_the_providers_message(scripted: ScriptedProcess) -> None:
    with pytest.raises(ProviderError, match="engine is overloaded"):
        ask(scripted, chat("scripted?faults=1&kinds=error_body"))


def test_fractional_token_counts_are_rounded_up(scripted: ScriptedProcess) -> None:
    whole = ask(scripted, chat("scripted"))
    rounded = ask(scripted, chat("scripted?faults=1&kinds=fractional"))
    assert (rounded.tokens_in, rounded.tokens_out) == (whole.tokens_in + 1, whole.tokens_out + 1)
