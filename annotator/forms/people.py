"""Forms that grant and revoke a qualification."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from annotator.forms.fields import SafeTextField
from annotator.forms.service import ServiceForm
from annotator.forms.workspace import WorkspaceField, workspace_choices
from annotator.hit_types.registry import hit_types
from annotator.models import Qualification, Rater
from annotator.selectors.declared_type import versions_offered
from annotator.services.exam import qualification_grant


class GrantForm(ServiceForm):
    """Grants a qualification by hand in a workspace that ``by`` may edit, to people in its studies."""

    rater: Rater
    workspace = WorkspaceField(help_text="The qualification is valid in the studies of this workspace.")
    name = SafeTextField(
        label="Rater",
        widget=UnfoldAdminTextInputWidget,
        help_text="The rater's name as shown under Participants, in a study of that workspace.",
    )
    hit_type = forms.ChoiceField(label="HIT type", widget=UnfoldAdminSelectWidget)
    why = SafeTextField(
        label="Reason",
        max_length=2_000,
        widget=UnfoldAdminTextareaWidget,
        help_text="Kept with the qualification.",
    )

    class Meta:
        model = Qualification
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        workspace_choices(self, user=self.by)
        kinds = {kind.name: kind.title for kind in hit_types().values() if not kind.external}
        #: The types of the workspaces, each by its name and workspace: they can be granted there only.
        self.own = {
            (version.type.name, version.type.workspace_id) for version in versions_offered(user=self.by)
        }
        kinds |= {
            version.type.name: version.title
            for version in versions_offered(user=self.by)
            if version.type.name not in kinds
        }
        self.fields["hit_type"].choices = list(kinds.items())  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        name, workspace = self.cleaned_data.get("name"), self.cleaned_data.get("workspace")
        if name and workspace:
            people = Rater.objects.filter(name=name, kind="human", participations__study__workspace=workspace)
            found = people.first()
            if found is None:
                self.add_error(
                    "name",
                    "No participant in this workspace's studies has this name. Check the name under Participants.",
                )
            else:
                self.rater = found
        hit_type = self.cleaned_data.get("hit_type")
        if (
            hit_type
            and workspace
            and hit_type not in hit_types()
            and (hit_type, workspace.pk) not in self.own
        ):
            self.add_error("hit_type", f"The workspace “{workspace}” has no HIT type of this name.")
        return super().clean()

    def create(self, data: dict[str, Any]) -> Qualification:
        return qualification_grant(
            rater=self.rater,
            hit_type=data["hit_type"],
            workspace=data["workspace"],
            by=self.by,
            reason=data["why"],
        )


class RevokeForm(forms.Form):
    why = SafeTextField(label="Reason", max_length=2_000, widget=UnfoldAdminTextareaWidget)
