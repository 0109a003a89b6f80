"""Zip archives that somebody has uploaded, and may be damaged."""

from __future__ import annotations

import struct
import zipfile
import zlib

#: What ``zipfile`` raises on a damaged, encrypted or unsupported archive; ``OSError`` if it's a file on a disk and a place in it is
#: before its beginning.
ARCHIVE_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, KeyError, IndexError, ValueError, RuntimeError,
)  # fmt: skip
