"""The list of people who get personal links."""

from __future__ import annotations

from django import forms

from annotator.forms.fields import PlainForm


class PeopleFileForm(PlainForm):
    """A CSV file of people, and until when their links work."""

    file = forms.FileField(
        label="List of people", widget=forms.FileInput(attrs={"accept": ".csv,.tsv,.txt,.xlsx"}),
        help_text="A CSV file or Excel workbook with the columns name, email and id; one of them is enough. If any line has a problem, nobody is added.",
    )  # fmt: skip
    expires_at = forms.DateTimeField(
        label="Links work until", required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"],
        help_text="Leave empty for links that don't expire.",
    )  # fmt: skip
