"""The encoders that a report can be asked for by name."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluation.metrics import Encoder

#: The sentence encoder that the papers' cosines rest on, where its package is installed.
SENTENCES = "all-mpnet-base-v2"
TFIDF = "tfidf"


def encoders_offered() -> list[tuple[str, str]]:
    """(name, label) of the encoders that can be had here, sentence encoders first; TF-IDF is the last resort."""
    from evaluation.models import Endpoint

    found = (
        [(SENTENCES, f"{SENTENCES} (sentence-transformers)")] if find_spec("sentence_transformers") else []
    )
    names = Endpoint.objects.order_by("name").values_list("name", flat=True)
    found += [(f"endpoint:{name}", f"Embeddings of the endpoint {name}") for name in names]
    return [*found, (TFIDF, "TF-IDF (words only; not the papers' kind of encoder)")]


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
