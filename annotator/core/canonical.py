"""Content addresses: the SHA-256 of a value's one canonical JSON form."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """One spelling for each JSON value: sorted keys, no spaces, no unnecessary escapes.

    >>> canonical_json({"b": 1, "a": ["é"]})
    '{"a":["é"],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_of(value: Any) -> str:
    """SHA-256 of the canonical JSON, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def text_digest(*texts: str) -> str:
    """SHA-256 of some texts in order; no two different sequences share one.

    >>> text_digest("ab", "c") == text_digest("a", "bc")
    False
    """
    return digest_of(list(texts))
