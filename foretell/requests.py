"""An id for every request: in each log line of that request and in the reply, so that the two can be matched.

Jobs that a request queues log its id too, with their own name and the rows that they work on (a run, an export).

No log line of this module contains an address, a user name, a query string or form data.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponseBase

from foretell.log_context import job_fields, request_id

log = logging.getLogger("foretell.request")
#: The ids that are taken over from a proxy: only those that are harmless in a log.
GIVEN = re.compile(r"[A-Za-z0-9-]{8,64}")
#: Attributes of a record that the JSON line has under other names, or not at all.
STANDARD = {
    *vars(logging.makeLogRecord({})),
    "message",
    "asctime",
    "request",
    "server_time",
    "request_id",
    "context",
}


class RequestIdMiddleware:
    """Gives each request an id, returns it as ``X-Request-ID`` and logs one line per request at DEBUG (5xx: WARNING)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "")
        token = request_id.set(given if GIVEN.fullmatch(given) else secrets.token_hex(8))
        began = time.perf_counter()
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            match = request.resolver_match
            log.log(
                logging.WARNING if response.status_code >= 500 else logging.DEBUG,
                "%s %s %s",
                request.method,
                # The name of the page, not its address: that can hold tokens and ids of people.
                match.view_name if match else "-",
                response.status_code,
                extra={
                    "status": response.status_code,
                    "milliseconds": round((time.perf_counter() - began) * 1e3, 1),
                },
            )
            return response
        finally:
            request_id.reset(token)


class AddContext(logging.Filter):
    """Adds the request's id, and the job with its rows: as fields of JSON lines, and as ``context`` of plain ones."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = record.request_id = request_id.get() or "-"
        fields = job_fields()
        for name, value in fields.items():
            if name not in STANDARD:
                setattr(record, name, value)
        record.context = " ".join([request, *(f"{name}={value}" for name, value in fields.items())])
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, request_id, extra fields, exception."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": getattr(record, "request_id", "-"),
        }
        line |= {key: value for key, value in vars(record).items() if key not in STANDARD and key not in line}
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            line["exception"] = record.exc_text
        return json.dumps(line, default=str)
