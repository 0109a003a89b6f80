"""Actions on a run or a pipeline, such as ``POST /runs/7/pause/``: what both addresses share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request


class RetrySerializer(serializers.Serializer):
    """Which failed calls to send again; all if ``calls`` is left out."""

    calls = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), required=False, max_length=10_000
    )


def act(actions: Mapping[str, Callable[..., Any]], action: str, request: Request, **target: Any) -> None:
    """Call the service of an action; ``retry`` reads from the body which calls to send again.

    Raises ``Http404`` for an unknown action, and what the service raises: ``Conflict`` becomes a 409.
    """
    if action not in actions:
        raise Http404
    chosen: dict[str, Any] = {}
    if action == "retry":
        body = RetrySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        chosen = body.validated_data
    actions[action](**target, **chosen)
