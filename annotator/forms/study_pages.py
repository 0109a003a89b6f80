"""Forms of the pages beside a study's home."""

from __future__ import annotations

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.models import Export
from annotator.selectors.judgment import FILTERS


class ReasonForm(PlainForm):
    reason = SafeTextField(
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Saved with the exclusion and shown in reports.",
    )


class ExportForm(PlainForm):
    form = forms.ChoiceField(choices=Export.Form.choices, label="Rows")
    format = forms.ChoiceField(choices=Export.Format.choices)
    rater_kind = forms.ChoiceField(
        choices=[("", "people and simulators"), ("human", "people"), ("simulator", "simulators")],
        required=False,
        label="Raters",
    )
    excluded = forms.ChoiceField(
        choices=[("", "all, with reasons"), ("no", "without excluded"), ("yes", "only excluded")],
        required=False,
        label="Exclusions",
    )

    def filters(self) -> dict[str, str]:
        return {name: self.cleaned_data[name] for name in FILTERS if self.cleaned_data.get(name)}
