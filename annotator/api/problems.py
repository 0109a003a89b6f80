"""The format of error responses: problem details, RFC 9457."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, ValidationError
from rest_framework import exceptions, status
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotator.core.errors import Conflict, Refused
from annotator.core.tables.faults import FileRefused
from annotator.hit_types.declaration.problems import DeclarationRefused, path_text
from annotator.selectors.judgment import UnknownFilter
from annotator.services.declared_type import SavedMeanwhile


def problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn services' errors into responses; ``errors`` is keyed by field, and faults of files have line and column."""
    if isinstance(error, FileRefused):
        faults = [fault.as_json() for fault in error.faults]
        return Response(
            {"detail": "Nothing was imported.", "total": error.total, "faults": faults},
            status=status.HTTP_400_BAD_REQUEST,
        )
    if isinstance(error, DeclarationRefused):
        problems = [
            {"line": one.line, "path": path_text(one.path), "message": one.message} for one in error.problems
        ]
        return Response(
            {"detail": "Nothing was saved.", "problems": problems}, status=status.HTTP_400_BAD_REQUEST
        )
    if isinstance(error, SavedMeanwhile):
        return Response({"detail": " ".join(error.messages)}, status=status.HTTP_409_CONFLICT)
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


#: The media type of problem details.
PROBLEM = "application/problem+json"


class ProblemRenderer(JSONRenderer):
    """JSON, in which every error also is a problem: its code as ``status``, and the code's name as ``title``."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The bytes of a reply; an error's media type is changed as well."""
        response = (renderer_context or {}).get("response")
        if response is not None and response.status_code >= 400 and isinstance(data, dict):
            data = problem_details(response.status_code, data)
            response["Content-Type"] = PROBLEM
        rendered: bytes = super().render(data, accepted_media_type, renderer_context)
        return rendered


def problem_details(status_code: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """An error's body with the members of RFC 9457; what the body says takes precedence.

    >>> problem_details(404, {"detail": "no such study"})
    {'status': 404, 'title': 'Not Found', 'detail': 'no such study'}
    """
    known = status_code in {code.value for code in HTTPStatus}
    title = {"title": HTTPStatus(status_code).phrase} if known else {}
    return {"status": status_code, **title, **body}
