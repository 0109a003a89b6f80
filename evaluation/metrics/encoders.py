"""Sentence encoders: anything that turns texts into vectors, with a name and a version to report."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any, Protocol

import numpy as np

from evaluation.metrics.resample import Floats


class Encoder(Protocol):
    """Turns n texts into an array of shape (n, d), dense or scipy sparse; the same text gives the same row.

    ``name`` and ``version`` are printed with every cosine figure. Implement it for an embeddings API as well.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Any: ...


class TfidfEncoder:
    """Word TF-IDF (scikit-learn's defaults: lower-cased words of two or more characters, smooth idf, L2).

    Needs no download. It is fitted on the texts of its first ``encode``, or on ``corpus`` where one is given: a
    text's vector depends on that corpus, so all systems of a study must be encoded together.

    >>> TfidfEncoder().encode(["owls fly", "owls swim"]).shape
    (2, 3)
    """

    name = "TF-IDF"

    def __init__(self, corpus: Sequence[str] | None = None) -> None:
        import sklearn

        self._corpus = corpus
        where = "the study's follow-ups" if corpus is None else f"a corpus of {len(corpus)} texts"
        self.version = f"scikit-learn {sklearn.__version__}, fitted on {where}"

    def encode(self, texts: Sequence[str]) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer()
        try:
            vectorizer.fit(texts if self._corpus is None else self._corpus)
        except ValueError:  # no text contains a word, so every vector is empty
            return np.zeros((len(texts), 1))
        return vectorizer.transform(texts)


class SentenceTransformerEncoder:
    """A sentence-transformers model, by default the paper's all-mpnet-base-v2.

    Needs the optional extra ``encoders``; raises ``ImportError`` that says so where it is not installed.
    The model is loaded at the first ``encode``.
    """

    def __init__(self, model: str = "all-mpnet-base-v2", *, revision: str | None = None, batch: int = 64):
        self.name = model
        self._revision = revision
        self._batch = batch
        self._model: Any = None
        try:
            import sentence_transformers
        except ImportError as error:
            raise ImportError(
                "sentence embeddings need the optional extra: pip install 'foretell[encoders]'"
            ) from error
        self.version = (
            f"sentence-transformers {sentence_transformers.__version__}, revision {revision or 'main'}"
        )

    def encode(self, texts: Sequence[str]) -> Floats:
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            self._model = SentenceTransformer(self.name, revision=self._revision)
        return np.asarray(self._model.encode(list(texts), batch_size=self._batch), dtype=np.float64)


class CachedEncoder:
    """Another encoder with a cache of vectors, so that no text is embedded (or paid for) twice.

    ``store`` maps (name, version, text) to a vector; a dict will do. Only for encoders whose vectors do not
    depend on the other texts: not for TF-IDF.
    """

    def __init__(
        self, encoder: Encoder, store: MutableMapping[tuple[str, str, str], Any], *, batch: int = 256
    ) -> None:
        if isinstance(encoder, TfidfEncoder):
            raise ValueError("encoder: TF-IDF vectors depend on the corpus and cannot be kept by text")
        self._encoder, self._store, self._batch = encoder, store, batch

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def version(self) -> str:
        return self._encoder.version

    def encode(self, texts: Sequence[str]) -> Floats:
        keys = [(self.name, self.version, text) for text in texts]
        wanted = list(dict.fromkeys(key for key in keys if key not in self._store))
        for start in range(0, len(wanted), self._batch):
            part = wanted[start : start + self._batch]
            for key, vector in zip(part, self._encoder.encode([text for *_, text in part]), strict=True):
                self._store[key] = np.asarray(vector, dtype=np.float64)
        return np.stack([self._store[key] for key in keys]) if keys else np.zeros((0, 1))
