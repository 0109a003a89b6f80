"""The labs' keys for signing releases: made when first needed, encrypted again after a change of the secret key."""

from __future__ import annotations

from zipfile import ZipFile

from django.core.files.storage import default_storage
from django.db import transaction

from annotator.core.archives import ARCHIVE_ERRORS
from annotator.core.sealed import Unreadable, resealed, seal, unseal
from annotator.models import Workspace
from evaluation.models import Release, SigningKey
from evaluation.releases.signature import PUBLIC, private_make, public_of, public_read

PURPOSE = "release signature"
#: The longest public key that is read, in bytes. One has about 110.
_LONGEST_KEY = 4096


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


def signing_key_in(release: Release) -> str:
    """The public key in the archive of a release, in one line: of the workspace that made it, which may be on another installation.

    Empty without an archive, or if it has none that can be read.
    """
    if release.state != Release.State.DONE or not release.file:
        return ""
    try:
        with (
            default_storage.open(release.file) as file,
            ZipFile(file) as archive,
            archive.open(PUBLIC) as pem,
        ):
            return public_read(pem.read(_LONGEST_KEY).decode())
    except ARCHIVE_ERRORS:
        return ""


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
