"""Researchers' form of a new study, from a template."""

from __future__ import annotations

from copy import copy
from typing import Any, cast

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget

from annotator.models import Study
from annotator.services.study import study_text_faults
from annotator.services.study_templates import study_create_from_template, study_templates


class NewStudyForm(forms.ModelForm):
    """A new study needs a template and a name; everything else can be changed until the launch."""

    template = forms.ChoiceField(
        widget=UnfoldAdminSelectWidget, help_text="What annotators are asked, with the settings of the paper."
    )

    class Meta:
        model = Study
        fields = ("template", "title", "slug")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.by = kwargs.pop("by", None)
        super().__init__(*args, **kwargs)
        templates = cast(forms.ChoiceField, self.fields["template"])
        templates.choices = [
            (one.key, f"{one.title} — {one.source} ({one.description})") for one in study_templates()
        ]

    def save(self, commit: bool = True) -> Study:
        """The study comes from the service, whole; ``commit`` cannot put it off."""
        data = self.cleaned_data
        self.instance = study_create_from_template(
            by=self.by, template=data["template"], slug=data["slug"], title=data["title"]
        )
        return self.instance

    def save_m2m(self) -> None:
        """Nothing to do: the service has saved everything."""


class StudyForm(forms.ModelForm):
    """A study's settings; what a lab wrote itself is checked by the service's own rules, at its field."""

    def clean(self) -> Any:
        data = super().clean() or self.cleaned_data
        meant = copy(self.instance)
        for name, value in data.items():
            setattr(meant, name, value)
        for name, faults in study_text_faults(meant).items():
            self.add_error(name if name in self.fields else None, faults)
        return data
