"""The encoders that a report can be asked for by name."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec

from annotator.models import Study
from evaluation.metrics import Encoder, TfidfEncoder

#: The sentence encoder that the papers' cosines rest on, where its package is installed.
SENTENCES = "all-mpnet-base-v2"
TFIDF = "tfidf"


def encoders_offered(workspaces: Collection[int | None]) -> list[tuple[str, str]]:
    """(name, label) of the encoders that can be had here, sentence encoders first; TF-IDF is the last resort.

    Endpoints are those that the workspaces of the studies may use.
    """
    from evaluation.selectors.endpoint import endpoints_usable_in

    found = (
        [(SENTENCES, f"{SENTENCES} (sentence-transformers)")] if find_spec("sentence_transformers") else []
    )
    names = sorted({one.name for pk in set(workspaces) for one in endpoints_usable_in(pk)})
    found += [(f"endpoint:{name}", f"Embeddings of the endpoint {name}") for name in names]
    return [*found, (TFIDF, "TF-IDF (words only; not the papers' kind of encoder)")]


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
