"""The form of a new release."""

from __future__ import annotations

from typing import Any

from django import forms

from evaluation.models import Report
from evaluation.selectors.release import attributes_of


class ReleaseForm(forms.Form):
    """What the data card says, and which attributes of raters are released."""

    title = forms.CharField(max_length=200, required=False, label="Title")
    description = forms.CharField(
        required=False,
        label="Description",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What the data are, and who collected them.",
    )
    licence = forms.CharField(
        max_length=200, required=False, label="Licence", help_text="For example CC BY 4.0."
    )
    citation = forms.CharField(
        required=False,
        label="Citation",
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="How to cite the data.",
    )
    attributes = forms.MultipleChoiceField(
        required=False,
        label="Attributes of raters",
        widget=forms.CheckboxSelectMultiple,
        help_text="Release only what the consent text allows. Attributes that the report is grouped or filtered by are always "
        "released, because the report can't be computed without them.",
    )

    def __init__(self, *args: Any, report: Report, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = attributes_of(report)
        if names:
            self.fields["attributes"].choices = [(name, name.replace("_", " ")) for name in names]  # type: ignore[attr-defined]
        else:
            del self.fields["attributes"]
