"""The encoders that a report can be asked for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotator.models import Study

if TYPE_CHECKING:
    from evaluation.metrics import Encoder

TFIDF = "tfidf"


def cosine_caveat(name: str) -> str:
    """What the title of a table with a cosine adds where no sentence encoder was used.

    >>> cosine_caveat("tfidf"), cosine_caveat("all-mpnet-base-v2")
    (' (cosine of TF-IDF vectors, not of a sentence encoder)', '')
    """
    return " (cosine of TF-IDF vectors, not of a sentence encoder)" if name == TFIDF else ""


def encoder_of(name: str, study: Study) -> Encoder:
    """The encoder of that name: ``tfidf``, ``endpoint:NAME`` for a stored endpoint's embeddings, or a
    sentence-transformers model where that extra is installed.

    An endpoint is one that the study's workspace may use, its own before one shared with it. Raises ``ValueError``.
    """
    if name == TFIDF:
        from evaluation.metrics import TfidfEncoder

        return TfidfEncoder()
    if name.startswith("endpoint:"):
        from evaluation.selectors.endpoint import endpoint_encoder, endpoint_named

        wanted = name.removeprefix("endpoint:")
        endpoint = endpoint_named(name=wanted, workspace_id=study.workspace_id)
        if endpoint is None:
            raise ValueError(f"encoder: the study's workspace has no endpoint named {wanted!r}")
        return endpoint_encoder(endpoint)
    from evaluation.metrics import SentenceTransformerEncoder

    return SentenceTransformerEncoder(name)
