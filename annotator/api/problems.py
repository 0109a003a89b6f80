"""The format of error responses."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, ValidationError
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotator.core.errors import Conflict, Refused
from annotator.core.tables.faults import FileRefused
from annotator.selectors.judgment import UnknownFilter


def problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn services' errors into responses; ``errors`` is keyed by field, and faults of files have line and column."""
    if isinstance(error, FileRefused):
        faults = [fault.as_json() for fault in error.faults]
        return Response(
            {"detail": "Nothing was imported.", "total": error.total, "faults": faults},
            status=status.HTTP_400_BAD_REQUEST,
        )
    if isinstance(error, ValidationError):
        errors = error.message_dict if hasattr(error, "error_dict") else {"detail": error.messages}
        return Response({"errors": errors}, status=status.HTTP_400_BAD_REQUEST)
    if isinstance(error, UnknownFilter):
        errors = {name: [message] for name, message in error.errors.items()}
        return Response({"errors": errors}, status=status.HTTP_400_BAD_REQUEST)
    if isinstance(error, RequestDataTooBig):
        return Response({"detail": str(error)}, status=status.HTTP_413_REQUEST_ENTITY_TOO_LARGE)
    if isinstance(error, SuspiciousOperation):
        return Response({"detail": "Bad request."}, status=status.HTTP_400_BAD_REQUEST)
    if isinstance(error, Refused | Conflict):
        code = (
            status.HTTP_404_NOT_FOUND
            if getattr(error, "kind", "") == "not_found"
            else status.HTTP_409_CONFLICT
        )
        return Response({"detail": str(error)}, status=code)
    if isinstance(error, exceptions.ValidationError | exceptions.ParseError):
        return Response({"errors": flat(error.detail)}, status=status.HTTP_400_BAD_REQUEST)
    return exception_handler(error, context)


def flat(detail: Any, name: str = "") -> dict[str, list[str]]:
    """A serializer's errors as one level: ``{"values.0.level": ["..."]}``.

    >>> flat({"a": [{"b": ["no"]}], "c": ["bad"]})
    {'a.0.b': ['no'], 'c': ['bad']}
    """
    if isinstance(detail, dict):
        parts = detail.items()
    elif isinstance(detail, list) and any(isinstance(part, dict | list) for part in detail):
        parts = ((number, part) for number, part in enumerate(detail) if part)  # type: ignore[assignment]
    else:
        return {name or "detail": [str(part) for part in (detail if isinstance(detail, list) else [detail])]}
    problems: dict[str, list[str]] = {}
    for key, part in parts:
        problems |= flat(part, f"{name}.{key}" if name else str(key))
    return problems
