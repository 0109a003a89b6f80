"""Report unhandled errors to Sentry, if ``SENTRY_DSN`` is set and ``sentry-sdk`` is installed.

Nothing about people is sent: no request body, address, cookies, query, user or local variables, and no messages of exceptions
(those of Postgres contain values of rows). Type and stack are enough to find the line; the server's log has the rest.
"""

from __future__ import annotations

import importlib
from typing import Any

from foretell.env import SettingError


def install_sentry(dsn: str, **options: Any) -> None:
    """Start reporting to ``dsn``; ``options`` are passed to Sentry. Raises ``SettingError`` without the package."""
    try:
        sdk = importlib.import_module("sentry_sdk")
    except ImportError:
        raise SettingError(
            "SENTRY_DSN is set, but sentry-sdk isn't installed: pip install -r requirements-sentry.lock, or build the"
            " image with --build-arg SENTRY=1"
        ) from None
    sdk.init(
        dsn=dsn,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        # Source lines around a frame could contain somebody's data; file and line number are enough.
        include_source_context=False,
        traces_sample_rate=None,
        before_send=without_personal_data,
        **options,
    )


def without_personal_data(event: dict[str, Any], hint: dict[str, Any]) -> dict[str, Any]:
    """An event with the types and stacks of its exceptions and the method of its request.

    >>> event = {"request": {"method": "POST", "data": "typed", "cookies": "c"}, "user": {"id": 1}}
    >>> without_personal_data(event, {})
    {'request': {'method': 'POST'}}
    """
    request = event.pop("request", {})
    for part in ("user", "breadcrumbs", "extra", "server_name", "logentry", "message", "transaction"):
        event.pop(part, None)
    if "method" in request:
        event["request"] = {"method": request["method"]}
    for exception in event.get("exception", {}).get("values", []):
        exception["value"] = ""
    return event
