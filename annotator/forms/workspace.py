"""The choice of a workspace in a form, and the form of a member."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget

from annotator.models import Membership, User, Workspace
from annotator.selectors.workspace import workspaces_for


class WorkspaceField(forms.ModelChoiceField):
    """One of the researcher's workspaces; ``workspace_choices`` says which they are."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            Workspace.objects.none(), **{"widget": UnfoldAdminSelectWidget, "empty_label": None} | kwargs
        )


def workspace_choices(
    form: forms.BaseForm, *, user: User, role: str = Membership.Role.EDITOR, name: str = "workspace"
) -> None:
    """Offer the workspaces in which the user has this role; their own is chosen at first."""
    field = cast(WorkspaceField, form.fields[name])
    field.queryset = workspaces_for(user=user, role=role)
    own = field.queryset.filter(personal_of=user).first()
    if own is not None:
        field.initial = own.pk
