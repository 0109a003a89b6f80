"""The settings of an endpoint that change a model's answers: a run ends with those that it began with."""

from __future__ import annotations

from typing import Any

from annotator.core.canonical import digest_of
from evaluation.models import Endpoint, Run

#: Field -> its name in messages.
NAMES = {
    "deployment": "deployment name",
    "base_url": "address",
    "protocol": "protocol",
    "api_version": "API version",
    "parameters": "parameters",
    "headers": "headers",
    "structured": "form of reply",
    "images": "setting for images",
}


def settings_of(endpoint: Endpoint) -> dict[str, Any]:
    """The settings as a run stores them. The address counts only where the lab has not named the deployment, and of the
    headers only a digest is stored: somebody may have put a key there.
    """
    found: dict[str, Any] = {name: getattr(endpoint, name) for name in NAMES}
    if endpoint.deployment:
        found["base_url"] = ""
    return found | {"headers": digest_of(endpoint.headers) if endpoint.headers else ""}


def change_reason(run: Run, endpoint: Endpoint) -> str:
    """Why the run can't go on with the endpoint as it is now; empty if nothing has changed since the run was created."""
    if not run.endpoint_settings:  # an import, or a run from before these settings were stored
        return ""
    now = settings_of(endpoint)
    changed = [name for key, name in NAMES.items() if now[key] != run.endpoint_settings.get(key, now[key])]
    # A mistyped address can be corrected until somebody has answered.
    if not changed or (changed == ["address"] and not run.calls.filter(reply__isnull=False).exists()):
        return ""
    return (
        f"The endpoint has changed since this run was created ({', '.join(changed)}). One run's answers come from one "
        "simulator. Change it back and resume the run, or cancel it and start a new one."
    )
