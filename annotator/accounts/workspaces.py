"""A researcher who logs in has a workspace of their own."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.signals import user_logged_in

from annotator.models import User
from annotator.services.workspace import workspace_personal


def install_personal_workspaces() -> None:
    """Called once when Django starts."""
    user_logged_in.connect(_logged_in, dispatch_uid="personal workspace")


def _logged_in(sender: Any, user: User, **_: Any) -> None:
    if user.is_staff:
        workspace_personal(user=user)
