"""The labs' keys for signing releases: made when first needed, encrypted again after a change of the secret key."""

from __future__ import annotations

from django.db import transaction

from annotator.core.sealed import Unreadable, resealed, seal, unseal
from annotator.models import Workspace
from evaluation.models import SigningKey
from evaluation.releases.signature import private_make, public_of

PURPOSE = "release signature"


@transaction.atomic
def signing_key_of(workspace: Workspace | None) -> SigningKey:
    """The key of a lab; made if it has none yet."""
    found = SigningKey.objects.filter(workspace=workspace).first()
    if found is None:
        private = private_make()
        new = {"public": public_of(private), "private_sealed": seal(private, purpose=PURPOSE)}
        found, _ = SigningKey.objects.get_or_create(workspace=workspace, defaults=new)
    return found


def public_key_of(workspace: Workspace | None) -> str:
    """The public key with which a lab's releases can be verified; empty if it has made none yet."""
    found = SigningKey.objects.filter(workspace=workspace).first()
    return found.public if found else ""


def private_of(key: SigningKey) -> str:
    """The private part. Raises ``Unreadable`` if no secret key can decrypt it."""
    return unseal(key.private_sealed, purpose=PURPOSE)


@transaction.atomic
def signing_keys_rotate(*, dry_run: bool = False) -> tuple[int, list[str]]:
    """Encrypt every signing key with the newest ``SECRET_KEY``; returns how many were changed, and those that no secret key
    can decrypt."""
    changed, unreadable = 0, []
    for key in SigningKey.objects.select_for_update().order_by("pk"):
        try:
            sealed = resealed(key.private_sealed, purpose=PURPOSE)
        except Unreadable:
            unreadable.append(key.public)
            continue
        if sealed != key.private_sealed:
            changed += 1
            if not dry_run:
                SigningKey.objects.filter(pk=key.pk).update(private_sealed=sealed)
    return changed, unreadable
