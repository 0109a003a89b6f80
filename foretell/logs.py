"""Remove credentials from log records: more people read logs than may know the passwords."""

from __future__ import annotations

import logging
import re
from typing import Any

HIDDEN = "[hidden]"
#: user:password@ in an address, and the value of a header or field that contains a credential.
PATTERNS = (
    (re.compile(r"(\w+://[^\s:/@]*):[^\s@]+@"), rf"\1:{HIDDEN}@"),
    (
        re.compile(
            r"(?i)\b(authorization|api[-_]?key|password|secret|(?:\w+_)?token)(['\"]?\s*[:=]\s*)(['\"]?)"
            r"(?:(bearer|token|basic)\s+)?[^\s'\",;&]+"
        ),
        rf"\1\2\3{HIDDEN}",
    ),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"), HIDDEN),
    # Links that give access to anyone who has them.
    (re.compile(r"(/password/reset/)[^\s/]+/[^\s/?]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(/(?:join|return|receipt|colleague|no-emails)/)[^\s/?]+"), rf"\1{HIDDEN}"),
)


def hide_secrets(text: str) -> str:
    """Replace credentials in a text.

    >>> hide_secrets("connecting to redis://:hunter2@127.0.0.1:6379/0")
    'connecting to redis://:[hidden]@127.0.0.1:6379/0'
    >>> hide_secrets("headers: Authorization: Bearer sk-abc, other: 1")
    'headers: Authorization: [hidden], other: 1'
    >>> hide_secrets("?panel_token=ey.J.x&utm=1")
    '?panel_token=[hidden]&utm=1'
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


def log_settings(*, level: str, json: bool) -> dict[str, Any]:
    """Django's ``LOGGING``: everything to the console, one record a line, without credentials."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "secrets": {"()": "foretell.logs.HideSecrets"},
            "request": {"()": "foretell.requests.AddContext"},
        },
        "formatters": {
            "line": {"format": "{asctime} {levelname} {name} [{context}]: {message}", "style": "{"},
            "json": {"()": "foretell.requests.JsonFormatter"},
        },
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": "json" if json else "line",
                "filters": ["secrets", "request"],
            }
        },
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "httpx2": {"level": "WARNING"},  # a line for each request would repeat what runs record
            "django": {"handlers": ["console"], "level": level, "propagate": False},
            "django.server": {"handlers": ["console"], "level": level, "propagate": False},
            # At DEBUG every statement would be logged, with people's answers in it.
            "django.db.backends": {"level": "INFO"},
        },
    }
