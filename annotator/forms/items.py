"""The form of one item: a field for each part of its content and for the correct answer to each question about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.forms.questions import part_field, right_field
from annotator.hit_types.base import JSON, HitType
from annotator.hit_types.confidence import without_confidence
from annotator.models import Item


class ItemForm(PlainForm):
    """The content of an item and its correct answers. ``with_reason`` asks why it is corrected.

    A correct answer to something that isn't asked (of labels collected elsewhere) is edited as JSON.
    """

    def __init__(self, *args: Any, item: Item, kind: HitType, with_reason: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names = tuple(item.payload)
        for name, value in item.payload.items():
            self.fields[f"payload-{name}"] = part_field(name, value)
        stages = () if kind.external else without_confidence(kind).every_stage(item.payload)
        self.asked = {field.name: field for stage in stages for field in stage.fields}
        known: Mapping[str, Any] = item.gold or {}
        if self.asked and set(known) <= set(self.asked):
            for name, asked in self.asked.items():
                self.fields[f"gold-{name}"] = right_field(asked, known.get(name))
        else:
            self.asked = {}
            self.fields["gold"] = forms.JSONField(
                required=False, initial=item.gold or "", label="Correct answer", widget=forms.Textarea(attrs={"rows": 3}),
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

    def gold(self) -> JSON | None:
        """The correct answers; None if there are none."""
        if not self.asked:
            return self.cleaned_data["gold"] or None
        given = {name: self.cleaned_data[f"gold-{name}"] for name in self.asked}
        return {name: value for name, value in given.items() if value} or None

    def add_faults(self, error: Any) -> None:
        """Show the errors of a service: those of a correct answer at its field, or at the form's first."""
        for name, texts in (
            error.message_dict.items() if hasattr(error, "error_dict") else [("", error.messages)]
        ):
            for text in texts:
                field, _, rest = text.partition(": ")
                at = f"gold-{field}" if name == "gold" else name
                known = at in self.fields
                self.add_error(at if known else None, rest if known and name == "gold" else text)
