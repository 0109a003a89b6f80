"""Files in the default storage that no row names: what a killed process left behind, and a file that is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

#: What a file is called while it is being written.
PARTIAL = ".partial"


def orphans_delete(
    folder: str, *, known: Callable[[set[str]], Iterable[str]], after: timedelta = timedelta(hours=1)
) -> list[str]:
    """Delete the files of a folder that no row names and that are older than ``after``; returns their names, sorted.

    A file is written before its row is committed, so ``after`` must be longer than that takes. ``known`` gets the names of the files in
    the folder and returns those that a row has.
    """
    try:
        _, names = default_storage.listdir(folder)
    except FileNotFoundError:
        return []
    old = timezone.now() - after
    aged = set()
    for name in (f"{folder}/{one}" for one in names):
        try:
            if default_storage.get_modified_time(name) < old:
                aged.add(name)
        except FileNotFoundError:
            continue  # deleted meanwhile
    gone = sorted(aged - set(known(aged))) if aged else []
    for name in gone:
        default_storage.delete(name)
    return gone


def file_store_whole(name: str, content: bytes) -> None:
    """Store a file under exactly this name, in place of an earlier one. A killed process leaves none, or one named ``….partial``."""
    partial = default_storage.save(f"{name}.{secrets.token_hex(6)}{PARTIAL}", ContentFile(content))
    path = Path(default_storage.path(partial))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    path.rename(default_storage.path(name))
