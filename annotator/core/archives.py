"""Zip archives that somebody has uploaded, and may be damaged."""

from __future__ import annotations

import zipfile
import zlib

#: What ``zipfile`` raises on a damaged, encrypted or unsupported archive.
ARCHIVE_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, IndexError, ValueError, RuntimeError,
)  # fmt: skip
