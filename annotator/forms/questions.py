"""Forms of exam and practice questions: one question with a field for each part, or a file with one per row."""

from __future__ import annotations

import csv
import io
from typing import Any

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.hit_types.base import JSON, Field, HitType, Question
from annotator.hit_types.confidence import without_confidence

MOST_BYTES = 1_000_000
#: Divides several right answers in one cell.
SEVERAL = "|"


class QuestionForm(PlainForm):
    """One question: its key, what is shown, the right answer to each field, the reason and the pool.

    ``start`` is the question to change, or one of the type's own, from which a new question takes its parts (``new``).
    """

    def __init__(self, *args: Any, kind: HitType, start: Question, new: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.start, self.new = start, new
        self.fields["key"] = SafeTextField(
            max_length=100, initial="" if new else start.key, label="Key",
            help_text="A name for the question, unique in this exam or practice.",
        )  # fmt: skip
        for name, value in start.payload.items():
            self.fields[f"payload-{name}"] = part_field(name, value, new=new)
        self.asked = {
            field.name: field
            for stage in without_confidence(kind).every_stage(start.payload)
            for field in stage.fields
        }
        for name, asked in self.asked.items():
            self.fields[f"gold-{name}"] = right_field(asked, None if new else start.gold.get(name))
        self.fields["reason"] = SafeTextField(
            max_length=5_000, initial="" if new else start.reason, label="Reason",
            widget=forms.Textarea(attrs={"rows": 3}), help_text="Annotators can read it after the exam.",
        )  # fmt: skip
        self.fields["pool"] = SafeTextField(
            max_length=60, required=False, initial=start.pool, label="Pool",
            help_text="Questions are drawn evenly from the pools. Leave empty for no pool.",
        )  # fmt: skip

    def question(self) -> JSON:
        """The question as it is stored, still to be checked by ``read_questions``."""
        data = self.cleaned_data
        gold = {name: data[f"gold-{name}"] for name in self.asked if data[f"gold-{name}"]}
        payload = {name: data[f"payload-{name}"] for name in self.start.payload}
        return {
            "key": data["key"],
            "payload": payload,
            "gold": gold,
            "reason": data["reason"],
            "pool": data["pool"],
        }

    def add_faults(self, errors: dict[str, str]) -> None:
        """Show the errors of ``read_questions``, which are named ``question 3 (key), gold.answer``, at their fields."""
        for where, text in errors.items():
            name = where.rpartition(", ")[2].replace("gold.", "gold-")
            self.add_error(name if name in self.fields else None, f"{text[:1].upper()}{text[1:]}.")


def part_field(name: str, value: Any, *, new: bool = False) -> forms.Field:
    """One part of what is shown: a box for text, JSON for anything else."""
    label = name.replace("_", " ").capitalize()
    if isinstance(value, str):
        rows = 2 if len(value) < 90 else 5
        return SafeTextField(
            required=False, strip=False, initial="" if new else value, label=label,
            widget=forms.Textarea(attrs={"rows": rows}),
        )  # fmt: skip
    return forms.JSONField(
        required=False,
        initial=value,
        label=label,
        help_text="JSON.",
        widget=forms.Textarea(attrs={"rows": 5}),
    )


def right_field(asked: Field, value: Any) -> forms.Field:
    """The right answer to one field; empty where it is not graded."""
    label = f"Correct: {asked.label}"
    if asked.kind == "text" or not asked.options:
        return SafeTextField(
            required=False, initial=value, label=label, help_text="Leave empty if this field isn't graded."
        )
    choices = [(option.value, option.label) for option in asked.options]
    if asked.kind == "multi":
        return forms.MultipleChoiceField(
            required=False, initial=value, label=label, choices=choices, widget=forms.CheckboxSelectMultiple,
            help_text="Choose none if this field isn't graded.",
        )  # fmt: skip
    return forms.ChoiceField(
        required=False, initial=value, label=label, choices=[("", "not graded"), *choices]
    )


class QuestionsFileForm(PlainForm):
    """A CSV file of questions, one per row."""

    file = forms.FileField(
        label="CSV file", widget=forms.FileInput(attrs={"accept": ".csv"}),
        help_text="One question per row, at most 1 MB. If any row has a problem, nothing is stored.",
    )  # fmt: skip

    def clean_file(self) -> list[JSON]:
        """The rows as questions, still to be checked by ``read_questions``."""
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError("The file is larger than 1 MB.")
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise forms.ValidationError("The file is not UTF-8 text. Save it as “CSV UTF-8”.") from None
        try:
            rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        except csv.Error as error:
            raise forms.ValidationError(f"The file is not a CSV file: {error}.") from None
        if not rows:
            raise forms.ValidationError("The file has a header but no rows.")
        return [_of_row(row) for row in rows]


def _of_row(row: dict[str, Any]) -> JSON:
    """A row's columns as a question: ``key``, ``reason``, ``pool``, ``gold.<field>``, and the columns of an item."""
    question: JSON = {"key": "", "row": {}, "gold": {}, "reason": "", "pool": ""}
    for name, value in row.items():
        text = (value or "").strip() if isinstance(value, str | None) else ""
        if name in ("key", "reason", "pool"):
            question[name] = text
        elif name and name.startswith("gold."):
            if text:
                question["gold"][name.removeprefix("gold.")] = (
                    text.split(SEVERAL) if SEVERAL in text else text
                )
        elif name and text:
            question["row"][name] = text
    return question
