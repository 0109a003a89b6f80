"""Researchers' forms: a new study from a template, and the two imports."""

from __future__ import annotations

import shlex
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from annotator.models import Study
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from annotator.services.study_templates import study_create_from_template, study_templates


class NewStudyForm(forms.ModelForm):
    """A study starts as a template and a name; everything else can be changed before the launch."""

    template = forms.ChoiceField(
        widget=UnfoldAdminSelectWidget, help_text="What annotators will be asked, set up as the paper did it."
    )

    class Meta:
        model = Study
        fields = ("template", "title", "slug")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.by = kwargs.pop("by", None)
        super().__init__(*args, **kwargs)
        self.fields["template"].choices = [
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
        """Nothing is left to save."""


def pairs(text: str, *, name: str) -> dict[str, str]:
    """``a=b "c=d e"`` as a dictionary, as the command line takes it."""
    found = {}
    for part in shlex.split(text):
        left, equals, right = part.partition("=")
        if not equals or not left or not right:
            raise ValidationError({name: f"{part!r}: expected COLUMN=VALUE"})
        found[left] = right
    return found


class MaterialImportForm(forms.Form):
    file = forms.FileField(
        widget=UnfoldAdminFileFieldWidget,
        help_text="JSON lines, CSV, TSV or Parquet, told by the file's ending.",
    )
    mapping = forms.CharField(
        required=False,
        widget=UnfoldAdminTextInputWidget,
        label="Columns with other names",
        help_text="For instance: question=Input.question answer=robot_says",
    )
    constants = forms.CharField(
        required=False,
        widget=UnfoldAdminTextInputWidget,
        label="The same value for every row",
        help_text="For instance: system=gpt-x",
    )
    dry_run = forms.BooleanField(
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget,
        label="Only check, and show what would be imported",
    )

    def clean_mapping(self) -> dict[str, str]:
        return self._pairs("mapping")

    def clean_constants(self) -> dict[str, str]:
        return self._pairs("constants")

    def _pairs(self, name: str) -> dict[str, str]:
        try:
            return pairs(self.cleaned_data[name], name=name)
        except ValidationError as error:
            raise ValidationError(error.message_dict[name]) from None
        except ValueError as error:
            raise ValidationError(f"cannot be read: {error}") from None


class JudgmentsImportForm(forms.Form):
    file = forms.FileField(
        widget=UnfoldAdminFileFieldWidget,
        help_text="CSV, TSV, JSON lines or Parquet; MTurk batch files as they are.",
    )
    item = forms.CharField(
        widget=UnfoldAdminTextInputWidget, label="Item column", help_text="Names what was judged."
    )
    value = forms.CharField(
        widget=UnfoldAdminTextInputWidget,
        label="Value columns",
        help_text="One or several, as COLUMN or NAME=COLUMN: helpful=Answer.helpful answer=Answer.answer",
    )
    rater = forms.CharField(
        required=False,
        widget=UnfoldAdminTextInputWidget,
        label="Rater column",
        help_text="Empty: the raters of each item are numbered in the order of the rows.",
    )
    listed = forms.CharField(
        required=False,
        widget=UnfoldAdminTextInputWidget,
        label="Units listed in a cell",
        help_text="Where a cell lists which of an item's units were chosen: all units, e.g. 0,1,2,3,4",
    )
    dry_run = forms.BooleanField(
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget,
        label="Only check, and show what would be imported",
    )

    def columns(self) -> JudgmentColumns:
        """What the file's columns mean, as the importer takes it."""
        data = self.cleaned_data
        listed = tuple(unit.strip() for unit in data["listed"].split(",") if unit.strip())
        values = []
        for part in shlex.split(data["value"]):
            name, equals, column = part.partition("=")
            values.append(
                ValueColumn(column=column if equals else name, name=name if equals else "", listed=listed)
            )
        return JudgmentColumns(
            item=data["item"].strip(),
            values=tuple(values),
            rater=data["rater"].strip(),
            unnamed=not data["rater"].strip(),
        )

    def clean_value(self) -> str:
        try:
            shlex.split(self.cleaned_data["value"])
        except ValueError as error:
            raise ValidationError(f"cannot be read: {error}") from None
        return self.cleaned_data["value"]
