"""Token estimates: counted with tiktoken's vocabulary, learned from replies, or from bytes; never downloaded."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

from evaluation.models import Call, Run
from evaluation.providers.base import ChatRequest
from evaluation.runs import tokens
from evaluation.runs.estimate import bytes_per_token, run_estimate
from evaluation.runs.request import LIKELY_REPLY, likely_tokens
from tests.evaluation.run_factories import claim_as, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess

REQUEST = ChatRequest("openai/tiny", ({"role": "user", "content": "owl owl owl <|end|>"},), {"max_tokens": 9})


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    tokens._loaded.cache_clear()
    yield
    tokens._loaded.cache_clear()


class ByWord:
    """A vocabulary with one token per word, for machines without tiktoken."""

    def encode_ordinary(self, text: str) -> list[int]:
        return list(range(len(text.split())))


@pytest.fixture
def by_word(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A module ``tiktoken`` that knows the model ``tiny`` only, as the real one would be found."""
    module, load = ModuleType("tiktoken"), ModuleType("tiktoken.load")
    module.encoding_for_model = {"tiny": ByWord()}.__getitem__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    monkeypatch.setitem(sys.modules, "tiktoken.load", load)
    settings.TIKTOKEN_CACHE_DIR = "/vocabularies"


@pytest.fixture
def tiktoken(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> Any:
    """The real package, with an empty folder of vocabularies."""
    package = pytest.importorskip("tiktoken")
    load = importlib.import_module("tiktoken.load")
    monkeypatch.setattr(load, "read_file", load.read_file)  # restored after the test
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    settings.TIKTOKEN_CACHE_DIR = str(tmp_path)
    return package


def test_a_prompt_is_counted_with_the_vocabulary_of_its_model(by_word: None) -> None:
    assert tokens.prompt_tokens(REQUEST) == 4 + 3 + 3
    assert likely_tokens(REQUEST) == 10 + 9


def test_tiktoken_counts_with_an_encoding_built_here(tiktoken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = {bytes([n]): n for n in range(256)} | {b"ow": 256, b"owl": 257, b" owl": 258}
    tiny = tiktoken.Encoding(
        name="tiny", pat_str=r" ?\w+|\s+|[^\s\w]+", mergeable_ranks=ranks, special_tokens={"<|end|>": 259}
    )
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "tiny", tiny)
    monkeypatch.setitem(tiktoken.model.MODEL_TO_ENCODING, "tiny", "tiny")
    # "owl", " owl", " owl", then " <|end|>" byte by byte: a special token in an item's text is ordinary text.
    assert tokens.prompt_tokens(REQUEST) == 3 + 8 + 3 + 3


def test_a_vocabulary_that_is_not_in_the_folder_is_never_downloaded(
    tiktoken: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise AssertionError("tiktoken tried to download a vocabulary")

    monkeypatch.setattr("requests.get", fail)
    assert tokens.vocabulary_of("gpt-4o") is None
    assert re.search(r"https://\S+ has no valid copy in TIKTOKEN_CACHE_DIR", caplog.text)


def test_without_the_package_the_setting_or_the_model_bytes_are_used(
    by_word: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    four_bytes = (len("owl owl owl <|end|>") + 16) // 4 + 9
    other = ChatRequest("llama", REQUEST.messages, REQUEST.parameters)
    assert likely_tokens(other) == four_bytes
    settings.TIKTOKEN_CACHE_DIR = ""
    assert likely_tokens(REQUEST) == four_bytes
    settings.TIKTOKEN_CACHE_DIR = "/elsewhere"
    monkeypatch.setitem(sys.modules, "tiktoken", None)  # importing it raises ImportError
    assert likely_tokens(REQUEST) == four_bytes


def test_the_rest_of_a_long_text_is_assumed_to_be_like_its_beginning() -> None:
    assert tokens.text_tokens(ByWord(), "owl " * 50_000) == 50_000


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("scripted_allowed")
class TestRuns:
    def test_the_vocabulary_is_used_for_estimates_and_rates(
        self, scripted: ScriptedProcess, by_word: None
    ) -> None:
        endpoint = make_endpoint(scripted, tokens_per_minute=1_000_000)
        run = make_run(endpoint, make_material(3), model="tiny")
        estimate = run_estimate(run=run)
        ready = claim_as("t", run, want=3).ready
        counted = [tokens.prompt_tokens(one.request) for one in ready]
        assert estimate.tokens_in == sum(filter(None, counted)) > 0
        assert [one.tokens for one in ready] == [
            (words or 0) + min(one.request.parameters["max_tokens"], LIKELY_REPLY)
            for words, one in zip(counted, ready, strict=True)
        ]

    def test_an_estimate_learns_from_what_the_endpoint_counted(self, scripted: ScriptedProcess) -> None:
        endpoint = make_endpoint(scripted)
        study = make_material(8)
        first = make_run(endpoint, study, started=False)
        before = run_estimate(run=first)
        assert bytes_per_token(first) == 4
        first = make_run(endpoint, study)
        work(first)
        # The endpoint counted twice as many tokens as four bytes to a token would give.
        Call.objects.filter(run=first).update(tokens_in=before.tokens_in // 8 * 2)
        again = make_run(endpoint, make_material(8, slug="again"), started=False)
        after = run_estimate(run=again)
        assert after.tokens_in == pytest.approx(2 * before.tokens_in, rel=0.02)
        assert after.most == before.most > Decimal(0)
        assert bytes_per_token(Run(endpoint=endpoint, model="another")) == 4
