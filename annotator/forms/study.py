"""Forms of a new study and of its settings."""

from __future__ import annotations

from copy import copy
from typing import Any, cast

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget

from annotator.forms.service import ServiceForm
from annotator.forms.workspace import WorkspaceField, workspace_choices
from annotator.models import Study
from annotator.services.study import study_text_faults
from annotator.services.study_templates import study_create_from_template, study_templates


class NewStudyForm(ServiceForm):
    """A study starts as a template and a name; everything else can be changed until it is launched."""

    workspace = WorkspaceField(
        required=False, help_text="Its members reach the study, each in their role there."
    )
    template = forms.ChoiceField(
        widget=UnfoldAdminSelectWidget, help_text="What annotators are asked, with the settings of the paper."
    )

    class Meta:
        model = Study
        fields = ("title", "slug")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        workspace_choices(self, user=self.by)
        templates = cast(forms.ChoiceField, self.fields["template"])
        templates.choices = [
            (one.key, f"{one.title} — {one.source} ({one.description})") for one in study_templates()
        ]

    def create(self, data: dict[str, Any]) -> Study:
        return study_create_from_template(
            by=self.by,
            template=data["template"],
            slug=data["slug"],
            title=data["title"],
            workspace=data["workspace"],
        )


class StudyForm(forms.ModelForm):
    """A study's settings. Instructions and questions that a lab wrote are checked by the service, at their field."""

    def clean(self) -> Any:
        data = super().clean() or self.cleaned_data
        meant = copy(self.instance)
        for name, value in data.items():
            setattr(meant, name, value)
        for name, faults in study_text_faults(meant).items():
            self.add_error(name if name in self.fields else None, faults)
        return data
