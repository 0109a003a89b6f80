"""The encoders that a report can be asked for by name."""

from __future__ import annotations

from evaluation.metrics import Encoder, TfidfEncoder


def encoder_of(name: str) -> Encoder:
    """The encoder of that name: ``tfidf``, ``endpoint:NAME`` for a stored endpoint's embeddings, or a
    sentence-transformers model where that extra is installed."""
    if name == "tfidf":
        return TfidfEncoder()
    if name.startswith("endpoint:"):
        from evaluation.models import Endpoint
        from evaluation.selectors.endpoint import endpoint_encoder

        return endpoint_encoder(Endpoint.objects.get(name=name.removeprefix("endpoint:")))
    from evaluation.metrics import SentenceTransformerEncoder

    return SentenceTransformerEncoder(name)
