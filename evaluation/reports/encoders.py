"""The encoders that a report can be asked for by name."""

from __future__ import annotations

from evaluation.metrics import Encoder, TfidfEncoder


def encoder_of(name: str) -> Encoder:
    """The encoder of that name: ``tfidf``, or a sentence-transformers model where that extra is installed."""
    if name == "tfidf":
        return TfidfEncoder()
    from evaluation.metrics import SentenceTransformerEncoder

    return SentenceTransformerEncoder(name)
