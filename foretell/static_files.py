"""The storage of collected static files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ReadableStaticFiles(CompressedManifestStaticFilesStorage):
    """WhiteNoise's, whose compressed files get the mode of all others, whatever the umask of the user who collects them.

    They are collected by one user and served by another.
    """

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        for name, compressed in super().compress_files(paths):
            if self.file_permissions_mode is not None:
                Path(self.path(compressed)).chmod(self.file_permissions_mode)
            yield name, compressed
