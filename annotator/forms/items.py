"""The form of one item: a field for each text of its content, JSON for the rest."""

from __future__ import annotations

from typing import Any

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.hit_types.base import JSON
from annotator.models import Item


class ItemForm(PlainForm):
    """The content of an item and its right answer. ``with_reason`` asks why it is corrected."""

    def __init__(self, *args: Any, item: Item, with_reason: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names = tuple(item.payload)
        for name, value in item.payload.items():
            text = isinstance(value, str)
            field: forms.Field
            if text:
                field = SafeTextField(
                    required=False, strip=False, initial=value,
                    widget=forms.Textarea(attrs={"rows": 2 if len(value) < 90 else 6}),
                )  # fmt: skip
            else:
                field = forms.JSONField(
                    required=False, initial=value, widget=forms.Textarea(attrs={"rows": 6})
                )
                field.help_text = "JSON."
            field.label = name.replace("_", " ").capitalize()
            self.fields[f"payload-{name}"] = field
        self.fields["gold"] = forms.JSONField(
            required=False, initial=item.gold, label="Correct answer", widget=forms.Textarea(attrs={"rows": 3}),
            help_text='JSON, never sent to annotators, such as {"helpful": "yes"}. Leave empty if there is none.',
        )  # fmt: skip
        if with_reason:
            self.fields["reason"] = SafeTextField(
                max_length=2_000, label="What was wrong", widget=forms.Textarea(attrs={"rows": 2}),
                help_text="Kept with the previous version and shown in reports.",
            )  # fmt: skip

    def payload(self) -> JSON:
        """The content as it was typed, in the order of the item."""
        return {name: self.cleaned_data[f"payload-{name}"] for name in self.names}
