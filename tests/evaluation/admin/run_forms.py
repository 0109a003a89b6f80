"""What the forms of endpoints and pipelines send."""

from __future__ import annotations

import json

from django.core.files.uploadedfile import SimpleUploadedFile

from annotator.models import User
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint
from tests.evaluation.scripted_process import ScriptedProcess


def boss_user() -> User:
    return User.objects.get(username="boss")


def endpoint_fields(scripted: ScriptedProcess, **more: str) -> dict[str, str]:
    """What is sent for a new endpoint of the scripted provider."""
    return {
        "workspace": str(workspace_personal(user=boss_user()).pk),
        "name": "e",
        "base_url": scripted.base_url,
        "model": "scripted",
        "parameters": "{}",
        "concurrency": "4",
        "price_in": "1",
        "price_out": "2",
        "timeout_seconds": "5",
    } | more


def pipeline_fields(endpoint: Endpoint, **more: object) -> dict[str, object]:
    """What is sent for a new pipeline, with a file of two complaints."""
    rows = [
        {"key": "a", "query": "My left knee clicks since I fell in March. I am 51. What should I do?"},
        {"key": "b", "query": "I sleep badly since the clocks changed. I drink tea late. What helps?"},
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    return {
        "recipe": "p2-medical",
        "file": SimpleUploadedFile("complaints.jsonl", text.encode()),
        "endpoint": str(endpoint.pk),
        "overrides": "{}",
        "allow_own_model": "on",
    } | more
