"""The settings of an endpoint that change a model's answers: a run ends with those that its first answer came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q

from annotator.core.canonical import digest_of
from annotator.core.errors import Conflict
from evaluation.models import Call, Endpoint, Run

#: Field -> its name in messages.
NAMES = {
    "protocol": "protocol",
    "api_version": "API version",
    "parameters": "parameters",
    "headers": "headers",
    "structured": "form of reply",
    "images": "setting for images",
    "thinking_tokens": "tokens for thinking",
    "fold_system": "setting for the system role",
}
#: The key of a run's settings with the deployments that its answers may come from: the one that it began with, and those
#: that somebody has confirmed to be the same.
DEPLOYMENTS = "deployments"


def deployment_of(endpoint: Endpoint) -> str:
    """The endpoint's deployment name, or else its address without the scheme."""
    address = endpoint.base_url.partition("://")[2].rstrip("/").removesuffix("/v1")
    return endpoint.deployment or address


def settings_of(endpoint: Endpoint) -> dict[str, Any]:
    """The settings as a run stores them; of the headers only a digest, because somebody may have put a key there."""
    return _settings(endpoint) | {DEPLOYMENTS: [deployment_of(endpoint)]}


def change_reason(run: Run, endpoint: Endpoint) -> str:
    """Why the run can't continue with the endpoint as it is now; empty if no setting but its deployment has changed since the
    run was created."""
    now = _settings(endpoint)
    changed = [name for key, name in NAMES.items() if now[key] != run.endpoint_settings.get(key, now[key])]
    if not changed:
        return ""
    return (
        f"The endpoint has changed since this run was created ({', '.join(changed)}). One run's answers come from one "
        "simulator. Change it back and resume the run, or cancel it and start a new one."
    )


def settings_take(run: Run, endpoint: Endpoint) -> None:
    """Let a run without replies continue with the endpoint's corrected settings. Doesn't save the run.

    A step asks at temperature 0 if nobody chose one. If the endpoint now leaves the temperature out, the run does too.
    """
    run.endpoint_settings = settings_of(endpoint) | {
        DEPLOYMENTS: deployments_of(run) or [deployment_of(endpoint)]
    }
    if endpoint.parameters.get("temperature", 0) is None and run.parameters.get("temperature") == 0:
        run.parameters = {name: value for name, value in run.parameters.items() if name != "temperature"}


def has_changed_since(*, held: Endpoint, stored: Endpoint) -> bool:
    """Whether a worker's client or its requests would be different with the stored endpoint than with the one it has."""
    return _client(held) != _client(stored) or settings_of(held) != settings_of(stored)


def deployments_of(run: Run) -> list[str]:
    """The deployments that the run's answers may come from; none for an import, or a run from before they were stored."""
    return list(run.endpoint_settings.get(DEPLOYMENTS, []))


def is_elsewhere(endpoint: Endpoint, *, than: Sequence[str]) -> bool:
    """Whether the endpoint is another deployment than these; False if none is known."""
    return bool(than) and deployment_of(endpoint) not in than


def has_moved(run: Run, endpoint: Endpoint) -> bool:
    """Whether the endpoint is another deployment than those that the run's answers may come from."""
    return is_elsewhere(endpoint, than=deployments_of(run))


def moved_reason(
    endpoint: Endpoint,
    *,
    since: Sequence[str],
    what: str = "The answers so far come from",
    other: str = "run",
) -> str:
    """Why work that was done at the deployments ``since`` can't continue where the endpoint is now, and what to do."""
    before = " and ".join(since)
    return (
        f"{what} {before}, and the endpoint {endpoint} is at {deployment_of(endpoint)} now. The answers of one {other} must "
        "come from one model. If the same model is served there, confirm that it's the same deployment. If not, change the "
        f"endpoint back and resume, or cancel this {other} and start a new one."
    )


def moved_to(endpoints: Iterable[Endpoint]) -> list[str]:
    """Where these endpoints are now, in order of their numbers, as a page shows it and a confirmation repeats it."""
    return [deployment_of(endpoint) for endpoint in sorted(endpoints, key=lambda one: one.pk)]


def confirmed_check(*, endpoints: Iterable[Endpoint], deployments: Sequence[str]) -> None:
    """Raise ``Conflict`` unless ``deployments``, which somebody has confirmed, are where the moved endpoints are now.

    An endpoint may have changed again since the page was loaded: nobody has confirmed that deployment.
    """
    endpoints = sorted(endpoints, key=lambda one: one.pk)
    if list(deployments) == moved_to(endpoints):
        return
    now = " and ".join(
        f"the endpoint {endpoint} is at {deployment_of(endpoint)} now" for endpoint in endpoints
    )
    given = f"{' and '.join(deployments)} was to be confirmed, but " if deployments else ""
    raise Conflict(
        f"Nothing was confirmed: {given}{now}. If the same model is served there, confirm {' and '.join(moved_to(endpoints))}."
    )


def is_answered(run: Run) -> bool:
    """Whether a model has answered a call of the run, or of an earlier run of its pipeline that asked the same model."""
    same = Q(run=run)
    if run.pipeline_id:
        same |= Q(run__pipeline=run.pipeline_id, run__endpoint=run.endpoint_id, run__model=run.model)
    ended = Q(state__in=[Call.State.DONE, Call.State.UNPARSABLE])
    return Call.objects.filter(same & (ended | ~Q(text="") | ~Q(history=[]))).exists()


def deployments_set(run: Run, endpoint: Endpoint, *, also: Sequence[str] = ()) -> None:
    """Let the run's answers come from the endpoint's deployment, and from those in ``also``. Doesn't save the run."""
    run.endpoint_settings = run.endpoint_settings | {DEPLOYMENTS: [*also, deployment_of(endpoint)]}


def _client(endpoint: Endpoint) -> tuple[Any, ...]:
    """What a client is made from besides the settings above."""
    return (
        endpoint.base_url,
        endpoint.key_variable,
        bytes(endpoint.key_encrypted),
        endpoint.ca_certificates,
        endpoint.timeout_seconds,
        endpoint.stream,
    )


def _settings(endpoint: Endpoint) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(endpoint, name) for name in NAMES}
    return found | {"headers": digest_of(endpoint.headers) if endpoint.headers else ""}
