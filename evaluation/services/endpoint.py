"""Save endpoints, with their key encrypted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.canonical import text_digest
from annotator.core.outgoing.hosts import HostRefused, check_origin, origin_of
from annotator.models import AuditAction, Workspace
from annotator.selectors.outgoing import host_policy
from annotator.services.audit import audit_change, audit_write
from evaluation.models import Endpoint
from evaluation.providers.keys import KeyRefused, key_reseal, key_seal
from evaluation.runs.request import parameters_check
from evaluation.selectors.endpoint import endpoint_key, key_secrets

#: The fields of an endpoint that the audit trail records. Of its key, it records only that one was set.
AUDITED = (
    "name", "base_url", "model", "key_variable", "parameters", "concurrency", "requests_per_minute",
    "tokens_per_minute", "structured", "price_in", "price_cached", "price_out", "timeout_seconds", "deployment",
    "protocol", "api_version", "ca_certificates", "images", "thinking_tokens", "fold_system", "stream",
)  # fmt: skip


@transaction.atomic
def endpoint_save(
    *, endpoint: Endpoint, key: str = "", shared_with: Iterable[Workspace] | None = None
) -> Endpoint:
    """Save an endpoint. A new ``key`` is encrypted for its address; a key entered for another address is dropped.
    ``shared_with`` are the workspaces that can use it; None leaves them unchanged. Raises ``ValidationError`` keyed by
    field, also if requests to the host aren't allowed.
    """
    stored = Endpoint.objects.filter(pk=endpoint.pk).first() if endpoint.pk else None
    before = {name: getattr(stored, name) for name in AUDITED} if stored else {}
    headers = dict(stored.headers or {}) if stored else {}
    try:
        parameters_check(endpoint.parameters)
    except ValueError as error:
        raise ValidationError({"parameters": str(error)}) from None
    endpoint.full_clean()
    try:
        origin = origin_of(endpoint.base_url)
        check_origin(origin, host_policy())
    except HostRefused as error:
        raise ValidationError({"base_url": str(error)}) from None
    if key:
        endpoint.key_encrypted = key_seal(key=key, origin=origin, secrets=key_secrets())
        endpoint.key_variable = ""
    elif endpoint.key_encrypted and not endpoint.key_variable:
        try:
            endpoint_key(endpoint)
        except KeyRefused:
            endpoint.key_encrypted = b""
    if endpoint.key_variable:
        endpoint.key_encrypted = b""
        try:
            endpoint_key(endpoint)
        except KeyRefused as error:
            raise ValidationError({"key_variable": str(error)}) from None
    endpoint.save()
    about: dict[str, Any] = {"workspace": endpoint.workspace, "target": endpoint.name}
    audit_change(action=AuditAction.ENDPOINT_SAVED, row=endpoint, before=before, names=AUDITED, **about)
    if key:
        audit_write(action=AuditAction.ENDPOINT_SAVED, after={"api_key": "replaced"}, **about)
    if (endpoint.headers or {}) != headers:
        audit_write(
            action=AuditAction.ENDPOINT_SAVED,
            before={"headers": _digests(headers)},
            after={"headers": _digests(endpoint.headers or {})},
            **about,
        )
    if shared_with is not None:
        _share(endpoint, {one.pk for one in shared_with if one.pk != endpoint.workspace_id})
    return endpoint


def _digests(headers: Mapping[str, str]) -> dict[str, str]:
    """Each header with the beginning of its value's digest: somebody may have put a key there, although the page says not to."""
    return {name: text_digest(str(value))[:12] for name, value in sorted(headers.items())}


def _share(endpoint: Endpoint, wanted: set[int]) -> None:
    before = set(endpoint.shared_with.values_list("pk", flat=True))
    if wanted == before:
        return
    endpoint.shared_with.set(wanted)
    audit_write(
        action=AuditAction.ENDPOINT_SAVED, workspace=endpoint.workspace, target=endpoint.name,
        before={"shared_with_workspaces": sorted(before)},
        after={"shared_with_workspaces": sorted(wanted)},
    )  # fmt: skip


@dataclass
class KeysRotated:
    """Names of endpoints whose stored keys were encrypted again, were up to date already, or can't be read."""

    resealed: list[str] = field(default_factory=list)
    current: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


@transaction.atomic
def endpoint_keys_rotate(*, dry_run: bool = False) -> KeysRotated:
    """Encrypt every stored key with the newest ``SECRET_KEY``, so that the fallbacks can be removed.

    Safe while runs use the keys, and safe to repeat. A key that no secret can decrypt stays as it is.
    """
    found = KeysRotated()
    rows = Endpoint.objects.select_for_update(of=("self",)).exclude(key_encrypted=b"").order_by("pk")
    for endpoint in rows:
        try:
            sealed = key_reseal(sealed=bytes(endpoint.key_encrypted), secrets=key_secrets())
        except KeyRefused:
            found.unreadable.append(endpoint.name)
            continue
        if sealed is None:
            found.current.append(endpoint.name)
            continue
        found.resealed.append(endpoint.name)
        if not dry_run:
            Endpoint.objects.filter(pk=endpoint.pk).update(key_encrypted=sealed)
            audit_write(
                action=AuditAction.ENDPOINT_SAVED,
                workspace=endpoint.workspace,
                target=endpoint.name,
                after={"api_key": "encrypted with a new secret key"},
            )
    return found


@transaction.atomic
def endpoint_delete(*, endpoint: Endpoint) -> None:
    """Delete an endpoint that no run has used. Raises ``ProtectedError`` otherwise."""
    before = {name: getattr(endpoint, name) for name in AUDITED}
    audit_write(
        action=AuditAction.ENDPOINT_DELETED,
        workspace=endpoint.workspace,
        target=endpoint.name,
        before=before,
    )
    endpoint.delete()
