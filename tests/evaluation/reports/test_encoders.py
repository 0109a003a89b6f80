"""The encoder of a report's cosine: the best one available, and never TF-IDF without saying so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from annotator.models import Study
from evaluation import metrics
from evaluation.reports import encoders
from evaluation.selectors import endpoint as endpoints
from tests.evaluation.reports.studies import computed, small_study, table_of
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = pytest.mark.django_db
TABLES = ("p1-table-1", "p1-table-5")


def titles(study: Study, **choices: Any) -> list[str]:
    content = computed(study, **choices).content
    return [table_of(content, name)["title"] for name in TABLES]


def test_without_a_sentence_encoder_the_default_is_tf_idf_and_the_titles_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoders, "sentence_encoder_installed", lambda: False)
    monkeypatch.setattr(endpoints, "sentence_encoder_installed", lambda: False)
    for title in titles(small_study()):
        assert title.endswith("(cosine of TF-IDF vectors, not of a sentence encoder)")
    assert endpoints.encoders_offered([])[0] == (
        "auto",
        "Automatic: TF-IDF, since no sentence encoder is installed",
    )


def test_with_one_installed_the_default_is_the_papers_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sentences:
        def __init__(self, model: str) -> None:
            self.name, self.version = model, "1"

        def encode(self, texts: Sequence[str]) -> Any:
            return np.array([[len(text), 1.0] for text in texts])

    monkeypatch.setattr(encoders, "sentence_encoder_installed", lambda: True)
    monkeypatch.setattr(endpoints, "sentence_encoder_installed", lambda: True)
    monkeypatch.setattr(metrics, "SentenceTransformerEncoder", Sentences)
    for title in titles(small_study()):
        assert title.endswith("(cosine of all-mpnet-base-v2 embeddings)")
    assert endpoints.encoders_offered([])[0] == ("auto", "Automatic: all-mpnet-base-v2")


def test_an_endpoint_embeds_each_text_once_for_all_tables_by_the_model_that_was_named(
    scripted: ScriptedProcess, settings: Any
) -> None:
    settings.LLM_ALLOWED_HOSTS = [scripted.host]
    study = small_study()
    make_endpoint(scripted)
    for title in titles(study, encoder="endpoint:scripted/text-embedder"):
        assert title.endswith("(cosine of text-embedder embeddings)")
    assert scripted.stats()["requests"] == 1
    with pytest.raises(ValueError, match="no endpoint named 'nobody'"):
        encoders.encoder_of("endpoint:nobody/text-embedder", study)
