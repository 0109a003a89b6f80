"""What each kind of misbehaving reply ends as."""

from __future__ import annotations

#: The outcome of each kind: the name of the error, or "" if the reply can still be read.
EXPECTED = {
    "whitespace": "timeout",
    "flood": "too_large",
    "slow": "timeout",
    "deep": "invalid_reply",
    "deep_extra": "",
    "nan": "",
    "overflow": "",
    "long_number": "invalid_reply",
    "gzip_bomb": "too_large",
    "gzip": "",
    "bad_gzip": "connection",
    "nul": "",
    "error_body": "server",
    "fractional": "",
    "odd_types": "invalid_reply",
    "misfit": "invalid_reply",
    "html": "invalid_reply",
    "long_text": "",
    "loop": "",
    "empty_body": "invalid_reply",
    "parts": "",
    "thinking": "",
    "tool_calls": "invalid_reply",
    "no_content": "invalid_reply",
    "partial": "",
}
