"""The encoders that a report can be asked for by name."""

from __future__ import annotations

from evaluation.metrics import Encoder

TFIDF = "tfidf"


def cosine_caveat(name: str) -> str:
    """What the title of a table with a cosine adds where no sentence encoder was used.

    >>> cosine_caveat("tfidf"), cosine_caveat("all-mpnet-base-v2")
    (' (cosine of TF-IDF vectors, not of a sentence encoder)', '')
    """
    return " (cosine of TF-IDF vectors, not of a sentence encoder)" if name == TFIDF else ""


def encoder_of(name: str) -> Encoder:
    """The encoder of that name: ``tfidf``, ``endpoint:NAME`` for a stored endpoint's embeddings, or a
    sentence-transformers model where that extra is installed."""
    if name == TFIDF:
        from evaluation.metrics import TfidfEncoder

        return TfidfEncoder()
    if name.startswith("endpoint:"):
        from evaluation.models import Endpoint
        from evaluation.selectors.endpoint import endpoint_encoder

        return endpoint_encoder(Endpoint.objects.get(name=name.removeprefix("endpoint:")))
    from evaluation.metrics import SentenceTransformerEncoder

    return SentenceTransformerEncoder(name)
