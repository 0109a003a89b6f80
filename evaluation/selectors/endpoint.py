"""Endpoints: access to them, allowed hosts, and keys."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import Http404

from annotator.core.outgoing.hosts import HostRefused, Origin, origin_of
from annotator.core.registry import UnknownMember
from annotator.models import Membership
from annotator.selectors.outgoing import host_policy
from annotator.selectors.study import studies_for
from annotator.selectors.workspace import log, owned_by, workspaces_for
from evaluation.models import Endpoint
from evaluation.providers.base import ProviderError
from evaluation.providers.contract import Access, BatchApi, FineTuner, ModelClient, Provider
from evaluation.providers.encoder import EndpointEncoder
from evaluation.providers.keys import KeyRefused, key_from_variable, key_open
from evaluation.providers.prices import ListPrice
from evaluation.providers.registry import PROVIDERS, titles_with


def endpoints_for(*, user: Any, role: str = Membership.Role.VIEWER) -> QuerySet[Endpoint]:
    """The endpoints that belong to workspaces in which the researcher has at least this role."""
    return Endpoint.objects.filter(owned_by(user=user, role=role)).order_by("name", "pk")


def endpoint_get_for(*, user: Any, pk: int | str, role: str = Membership.Role.VIEWER) -> Endpoint:
    """One of ``endpoints_for``; raises ``Http404`` for any other, and logs it."""
    found = endpoints_for(user=user, role=role).filter(pk=pk).first()
    if found is None:
        log.warning("endpoint %s: access denied to user %s as %s", pk, user.pk, role)
        raise Http404("no such endpoint")
    return found


def endpoints_usable_in(workspace_id: int | None) -> QuerySet[Endpoint]:
    """The endpoints that runs of a workspace can use: its own, and those shared with it."""
    own = Q(workspace=workspace_id)
    if workspace_id is not None:
        shared = Endpoint.shared_with.through.objects.filter(workspace=workspace_id)
        own |= Q(pk__in=shared.values("endpoint"))
    return Endpoint.objects.filter(own)


def endpoint_named(*, name: str, workspace_id: int | None) -> Endpoint | None:
    """The endpoint with that name that a workspace can use; its own takes precedence over one shared with it."""
    named = endpoints_usable_in(workspace_id).filter(name=name)
    return min(named, key=lambda one: (one.workspace_id != workspace_id, one.pk), default=None)


def endpoints_usable_by(*, user: Any) -> QuerySet[Endpoint]:
    """The endpoints to choose from in a form; ``endpoint_check`` checks whether the run's workspace can use it."""
    if user.is_active and user.is_superuser:
        return Endpoint.objects.order_by("name", "pk")
    mine = workspaces_for(user=user, role=Membership.Role.EDITOR).values("pk")
    studies = studies_for(user=user, role=Membership.Role.EDITOR).values("workspace")
    shared = Endpoint.shared_with.through.objects.filter(Q(workspace__in=mine) | Q(workspace__in=studies))
    found = Q(workspace__in=mine) | Q(workspace__in=studies) | Q(pk__in=shared.values("endpoint"))
    return Endpoint.objects.filter(found).order_by("name", "pk")


def endpoint_check(*, endpoint: Endpoint, workspace_id: int | None) -> None:
    """Raise ``ValidationError`` (endpoint) unless runs of the workspace can use the endpoint."""
    if not endpoints_usable_in(workspace_id).filter(pk=endpoint.pk).exists():
        raise ValidationError(
            {"endpoint": "This endpoint belongs to another workspace. Choose one of this workspace."}
        )


def key_secrets() -> list[str]:
    return [settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS)]


def endpoint_key(endpoint: Endpoint) -> str:
    """The key to send to the endpoint, empty if it has none; raises ``KeyRefused``."""
    try:
        origin: Origin = origin_of(endpoint.base_url)
    except HostRefused as error:
        raise KeyRefused(str(error)) from None
    if endpoint.key_variable:
        return key_from_variable(variable=endpoint.key_variable, origin=origin, known=settings.LLM_KEYS)
    if endpoint.key_encrypted:
        return key_open(sealed=bytes(endpoint.key_encrypted), origin=origin, secrets=key_secrets())
    return ""


def endpoint_access(endpoint: Endpoint) -> Access:
    """How the endpoint is reached, its key included; raises ``KeyRefused``."""
    return Access(
        base_url=endpoint.base_url,
        key=endpoint_key(endpoint),
        policy=host_policy(),
        timeout=endpoint.timeout_seconds,
        headers=endpoint.headers,
        api_version=endpoint.api_version,
        certificates=endpoint.ca_certificates,
        streams=endpoint.stream,
    )


def provider_of(endpoint: Endpoint) -> Provider:
    """The endpoint's provider; raises ``ProviderError`` (not_installed) if its package has been removed."""
    try:
        return PROVIDERS.get(endpoint.protocol)
    except UnknownMember:
        message = (
            f"The endpoint {endpoint} uses the provider {endpoint.protocol!r}, which isn't installed here. Installed: "
            f"{', '.join(PROVIDERS.names())}."
        )
        raise ProviderError("not_installed", message) from None


def provider_check(endpoint: Endpoint) -> Provider:
    """``provider_of`` for a form: raises ``ValidationError`` (endpoint)."""
    try:
        return provider_of(endpoint)
    except ProviderError as error:
        raise ValidationError({"endpoint": str(error)}) from None


def endpoint_client(endpoint: Endpoint) -> ModelClient:
    """A client for the endpoint; raises ``ProviderError`` (refused_host, not_installed) and ``KeyRefused``."""
    from evaluation.providers.client import client_of  # imported late: web processes seldom send requests

    return client_of(provider_of(endpoint), endpoint_access(endpoint))


def batch_api_of(endpoint: Endpoint) -> type[BatchApi]:
    """How batches are sent to the endpoint; raises ``ProviderError`` (not_found) if its provider has none."""
    kind = provider_of(endpoint).batch_api
    if kind is None:
        raise _lacks(endpoint, "batches need", "batch_api")
    return kind


def fine_tuner_of(endpoint: Endpoint) -> type[FineTuner]:
    """How the endpoint is asked to fine-tune; raises ``ProviderError`` (not_found) if its provider can't."""
    kind = provider_of(endpoint).fine_tuner
    if kind is None:
        raise _lacks(endpoint, "fine-tuning needs", "fine_tuner")
    return kind


def _lacks(endpoint: Endpoint, needs: str, part: str) -> ProviderError:
    message = f"{endpoint}: {needs} an endpoint that speaks the {titles_with(part)} protocol."
    return ProviderError("not_found", message)


def endpoint_price(endpoint: Endpoint) -> ListPrice | None:
    """The list price of the endpoint's model, if its address is the maker's own; None if it isn't known."""
    try:
        host = origin_of(endpoint.base_url).host
    except HostRefused:
        return None
    prices = (provider.list_price(host=host, model=endpoint.model) for provider in PROVIDERS)
    return next(filter(None, prices), None)


def endpoint_encoder(endpoint: Endpoint, *, model: str = "") -> EndpointEncoder:
    """The endpoint's embeddings as an encoder for cosine figures."""
    return EndpointEncoder(
        open_client=lambda: endpoint_client(endpoint),
        model=model or endpoint.model,
        endpoint=endpoint.name,
    )


#: The sentence encoder of the papers' cosines, if its package is installed.
SENTENCES = "all-mpnet-base-v2"


def sentence_encoder_installed() -> bool:
    """Whether the extra ``encoders`` is installed."""
    return find_spec("sentence_transformers") is not None


def encoders_offered(workspaces: Collection[int | None]) -> list[tuple[str, str]]:
    """(name, label) of the encoders that a report can use here, sentence encoders first and TF-IDF last."""
    if sentence_encoder_installed():
        found = [("auto", f"Automatic: {SENTENCES}"), (SENTENCES, f"{SENTENCES} (sentence-transformers)")]
    else:
        found = [("auto", "Automatic: TF-IDF, since no sentence encoder is installed")]
    names = sorted({one.name for pk in set(workspaces) for one in endpoints_usable_in(pk)})
    found += [(f"endpoint:{name}", f"Embeddings of the endpoint {name}") for name in names]
    return [*found, ("tfidf", "TF-IDF (words only; not the papers' kind of encoder)")]
