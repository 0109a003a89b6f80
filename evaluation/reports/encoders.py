"""The encoders that a report's choices can name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotator.models import Study
from evaluation.selectors.endpoint import (
    SENTENCES,
    endpoint_encoder,
    endpoint_named,
    sentence_encoder_installed,
)

if TYPE_CHECKING:
    from evaluation.metrics import Encoder
    from evaluation.reports.context import Context

AUTO, TFIDF = "auto", "tfidf"


def report_encoder(ctx: Context) -> Encoder:
    """The report's encoder, shared by all its tables, so that each text is sent to an endpoint only once."""
    return ctx.once("encoder", lambda: encoder_of(ctx.choices.encoder, ctx.study))


def cosine_title(encoder: Encoder) -> str:
    """A suffix for the title of a table with cosines: the encoder that was used.

    >>> from evaluation.metrics import TfidfEncoder
    >>> cosine_title(TfidfEncoder())
    ' (cosine of TF-IDF vectors, not of a sentence encoder)'
    """
    from evaluation.metrics import TfidfEncoder

    if isinstance(encoder, TfidfEncoder):
        return " (cosine of TF-IDF vectors, not of a sentence encoder)"
    return f" (cosine of {encoder.name} embeddings)"


def encoder_of(name: str, study: Study) -> Encoder:
    """The encoder of that name.

    ``auto`` is the papers' sentence encoder if the extra ``encoders`` is installed, else TF-IDF. ``endpoint:NAME`` gets
    embeddings from a stored endpoint with its own model, ``endpoint:NAME/MODEL`` with another one. The study's
    workspace must be able to use the endpoint; its own takes precedence over one shared with it. ``tfidf`` is TF-IDF;
    anything else is a sentence-transformers model. Raises ``ValueError``.
    """
    if name == AUTO:
        name = SENTENCES if sentence_encoder_installed() else TFIDF
    if name == TFIDF:
        from evaluation.metrics import TfidfEncoder

        return TfidfEncoder()
    if name.startswith("endpoint:"):
        wanted = name.removeprefix("endpoint:")
        endpoint, model = endpoint_named(name=wanted, workspace_id=study.workspace_id), ""
        if endpoint is None:
            wanted, _, model = wanted.partition("/")
            endpoint = endpoint_named(name=wanted, workspace_id=study.workspace_id)
        if endpoint is None:
            raise ValueError(f"encoder: the study's workspace has no endpoint named {wanted!r}")
        return endpoint_encoder(endpoint, model=model)
    from evaluation.metrics import SentenceTransformerEncoder

    return SentenceTransformerEncoder(name)
