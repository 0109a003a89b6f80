"""Actions on a run or a pipeline, such as ``POST /runs/7/pause/``: what both addresses share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request

from annotator.core.known_keys import KnownKeysSerializer


class RetrySerializer(KnownKeysSerializer):
    """Which failed calls to send again or to give up; all if ``calls`` is left out."""

    calls = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), required=False, max_length=10_000
    )


class SameDeploymentSerializer(KnownKeysSerializer):
    """Where the endpoints are that have moved. If it isn't so, or is left out, a 409 says where they are."""

    deployments = serializers.ListField(
        child=serializers.CharField(max_length=500), default=list, max_length=100
    )


class ActionSerializer(serializers.Serializer):
    """``calls`` for ``retry``, ``give-up`` and ``continue-without``, ``deployments`` for ``same-deployment``, nothing for the others."""

    calls = serializers.ListField(child=serializers.IntegerField(), required=False)
    deployments = serializers.ListField(child=serializers.CharField(), required=False)


#: Action -> what its body contains.
BODIES: Mapping[str, type[serializers.Serializer]] = {
    "retry": RetrySerializer,
    "give-up": RetrySerializer,
    "continue-without": RetrySerializer,
    "same-deployment": SameDeploymentSerializer,
}


def act(actions: Mapping[str, Callable[..., Any]], action: str, request: Request, **target: Any) -> None:
    """Call the service of an action with what ``BODIES`` reads from the body.

    Raises ``Http404`` for an unknown action, and what the service raises: ``Conflict`` becomes a 409.
    """
    if action not in actions:
        raise Http404
    chosen: dict[str, Any] = {}
    if action in BODIES:
        body = BODIES[action](data=request.data)
        body.is_valid(raise_exception=True)
        chosen = body.validated_data
    actions[action](**target, **chosen)
