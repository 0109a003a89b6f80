"""The settings of an endpoint that change a model's answers: a run ends with those that it began with."""

from __future__ import annotations

from typing import Any

from annotator.core.canonical import digest_of
from evaluation.models import Endpoint, Run

#: Field -> its name in messages.
NAMES = {
    "deployment": "deployment name",
    "protocol": "protocol",
    "api_version": "API version",
    "parameters": "parameters",
    "headers": "headers",
    "structured": "form of reply",
    "images": "setting for images",
}


def settings_of(endpoint: Endpoint) -> dict[str, Any]:
    """The settings as a run stores them; of the headers only a digest, because somebody may have put a key there.

    The address isn't among them: a mistyped one is corrected while its run is paused, and a server may move.
    """
    found: dict[str, Any] = {name: getattr(endpoint, name) for name in NAMES}
    return found | {"headers": digest_of(endpoint.headers) if endpoint.headers else ""}


def change_reason(run: Run, endpoint: Endpoint) -> str:
    """Why the run can't go on with the endpoint as it is now; empty if nothing has changed since the run was created."""
    if not run.endpoint_settings:  # an import, or a run from before these settings were stored
        return ""
    now = settings_of(endpoint)
    changed = [name for key, name in NAMES.items() if now[key] != run.endpoint_settings.get(key, now[key])]
    if not changed:
        return ""
    return (
        f"The endpoint has changed since this run was created ({', '.join(changed)}). One run's answers come from one "
        "simulator. Change it back and resume the run, or cancel it and start a new one."
    )
