"""Remove credentials from log records: more people read logs than may know the passwords."""

from __future__ import annotations

import logging
import re

HIDDEN = "[hidden]"
#: user:password@ in an address, and the value of a header or field that contains a credential.
PATTERNS = (
    (re.compile(r"(\w+://[^\s:/@]*):[^\s@]+@"), rf"\1:{HIDDEN}@"),
    (
        re.compile(
            r"(?i)\b(authorization|api[-_]?key|password|secret|token)(['\"]?\s*[:=]\s*)(['\"]?)"
            r"(?:(bearer|token|basic)\s+)?[^\s'\",;&]+"
        ),
        rf"\1\2\3{HIDDEN}",
    ),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"), HIDDEN),
    # Links that let whoever has them in.
    (re.compile(r"(/password/reset/)[^\s/]+/[^\s/?]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(/join/)[^\s/?]+"), rf"\1{HIDDEN}"),
)


def hide_secrets(text: str) -> str:
    """Replace credentials in a text.

    >>> hide_secrets("connecting to redis://:hunter2@127.0.0.1:6379/0")
    'connecting to redis://:[hidden]@127.0.0.1:6379/0'
    >>> hide_secrets("headers: Authorization: Bearer sk-abc, other: 1")
    'headers: Authorization: [hidden], other: 1'
    >>> hide_secrets("Not Found: /password/reset/MQ/abc-123/")
    'Not Found: /password/reset/[hidden]/'
    """
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text


class HideSecrets(logging.Filter):
    """Rewrite the formatted message and the text of an exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = hide_secrets(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = hide_secrets(record.exc_text)
        return True
