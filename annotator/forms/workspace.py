"""The choice of a workspace in a form, and the form of a member."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from annotator.forms.fields import SafeTextField
from annotator.forms.service import ServiceForm
from annotator.models import Membership, User, Workspace
from annotator.selectors.workspace import workspaces_for
from annotator.services.workspace import LIMITS, workspace_create


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


class NewWorkspaceForm(ServiceForm):
    """A name is all that a workspace needs."""

    class Meta:
        model = Workspace
        fields = ("name",)

    def create(self, data: dict[str, Any]) -> Workspace:
        return workspace_create(by=self.by, name=data["name"])


class MemberForm(forms.Form):
    """A researcher by user name, and their role."""

    username = SafeTextField(
        label="User name",
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text="A researcher on this server. If they are already a member, this changes their role.",
    )
    role = forms.ChoiceField(
        choices=Membership.Role.choices,
        initial=Membership.Role.VIEWER,
        widget=UnfoldAdminSelectWidget,
        help_text=(
            "Viewers can read everything in the workspace. Reviewers can also review participants' work, editors can also "
            "change studies and start runs, and owners can also manage members and endpoints."
        ),
    )


class WorkspaceSettingsForm(forms.ModelForm):
    """What an owner sets for everybody in the workspace. The service validates and stores it."""

    class Meta:
        model = Workspace
        fields = ("name", "second_factor_required", "model_budget")
        widgets = {"name": UnfoldAdminTextInputWidget}

    def _post_clean(self) -> None:
        """Skip the model's own validation and leave the row alone."""


class WorkspaceLimitsForm(forms.ModelForm):
    """What the operator of the installation sets for a workspace. The service validates and stores it."""

    class Meta:
        model = Workspace
        fields = LIMITS

    def _post_clean(self) -> None:
        """Skip the model's own validation and leave the row alone."""
