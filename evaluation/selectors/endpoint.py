"""Endpoints: which hosts may be asked, with which key."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from django.conf import settings

from evaluation.models import Endpoint
from evaluation.providers.encoder import EndpointEncoder
from evaluation.providers.hosts import HostPolicy, HostRefused, Origin, origin_of
from evaluation.providers.keys import KeyRefused, key_from_variable, key_open

if TYPE_CHECKING:
    from evaluation.providers.openai_compatible import OpenAICompatible


def host_policy() -> HostPolicy:
    """The operator's rules, from ``LLM_ALLOWED_HOSTS`` and ``LLM_ONLY_ALLOWED_HOSTS``."""
    return HostPolicy.from_entries(settings.LLM_ALLOWED_HOSTS, only=settings.LLM_ONLY_ALLOWED_HOSTS)


def key_secrets() -> list[str]:
    return [settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS)]


def endpoint_key(endpoint: Endpoint) -> str:
    """The key to send to the endpoint, empty where it has none; raises ``KeyRefused``."""
    try:
        origin: Origin = origin_of(endpoint.base_url)
    except HostRefused as error:
        raise KeyRefused(str(error)) from None
    if endpoint.key_variable:
        return key_from_variable(variable=endpoint.key_variable, origin=origin, known=settings.LLM_KEYS)
    if endpoint.key_encrypted:
        return key_open(sealed=bytes(endpoint.key_encrypted), origin=origin, secrets=key_secrets())
    return ""


def endpoint_provider(endpoint: Endpoint) -> OpenAICompatible:
    """A client for the endpoint; raises ``ProviderError`` (refused_host) and ``KeyRefused``."""
    # Here, not above: a web process that asks no model does not hold the client.
    from evaluation.providers.openai_compatible import OpenAICompatible

    return OpenAICompatible(
        base_url=endpoint.base_url,
        key=endpoint_key(endpoint),
        policy=host_policy(),
        timeout=endpoint.timeout_seconds,
    )


def endpoint_encoder(endpoint: Endpoint, *, model: str = "") -> EndpointEncoder:
    """The endpoint's embeddings as an encoder for cosine figures."""
    return EndpointEncoder(
        open_provider=lambda: endpoint_provider(endpoint),
        model=model or endpoint.model,
        endpoint=endpoint.name,
    )


#: The sentence encoder that the papers' cosines rest on, where its package is installed.
SENTENCES = "all-mpnet-base-v2"


def encoders_offered() -> list[tuple[str, str]]:
    """(name, label) of the encoders that a report can use here, sentence encoders first; TF-IDF is the last resort."""
    found = (
        [(SENTENCES, f"{SENTENCES} (sentence-transformers)")] if find_spec("sentence_transformers") else []
    )
    names = Endpoint.objects.order_by("name").values_list("name", flat=True)
    found += [(f"endpoint:{name}", f"Embeddings of the endpoint {name}") for name in names]
    return [*found, ("tfidf", "TF-IDF (words only; not the papers' kind of encoder)")]
