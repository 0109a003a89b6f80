"""Forms of a new study and of its settings."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.utils.text import slugify

from annotator.forms.fields import SafeTextField, describe
from annotator.forms.service import ServiceForm
from annotator.forms.workspace import WorkspaceField, workspace_choices
from annotator.models import Study, User
from annotator.selectors.qualification import requirement_choices
from annotator.selectors.study import slug_near
from annotator.services.study_check import study_texts_clean
from annotator.services.study_templates import StudyTemplate, study_create_from_template, study_templates


class NewStudyForm(ServiceForm):
    """A study starts as a template and a title; everything else can be changed until it is launched."""

    workspace = WorkspaceField(
        required=False,
        widget=forms.Select,
        help_text="Its members can open the study, each in their role in the workspace.",
    )
    template = forms.ChoiceField(widget=forms.RadioSelect, label="What annotators are asked")
    slug = SafeTextField(
        label="Short name",
        required=False,
        max_length=80,
        help_text="Used in addresses and file names. Leave empty to derive it from the title.",
    )

    class Meta:
        model = Study
        fields = ("title", "slug")

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        self.by = by
        super().__init__(*args, **{"label_suffix": ""} | kwargs)
        workspace_choices(self, user=by)
        templates = cast(forms.ChoiceField, self.fields["template"])
        templates.choices = [
            (source, [(one.key, one) for one in those])
            for source, those in groupby(study_templates(), key=lambda one: one.source)
        ]
        describe(self)

    def template_groups(self) -> list[tuple[str, list[tuple[str, StudyTemplate]]]]:
        """The templates by paper, each with the value of its radio button."""
        choices: Any = cast(forms.ChoiceField, self.fields["template"]).choices
        return list(choices)

    def clean_slug(self) -> str:
        """An unused short name; if it is taken, the error suggests another."""
        slug: str = self.cleaned_data["slug"]
        if not slug:
            return slug_near(slugify(self.cleaned_data.get("title") or ""))
        validate_slug(slug)
        if (free := slug_near(slug)) != slug:
            raise ValidationError(f"Another study is called “{slug}”. “{free}” is free.")
        return slug

    def create(self, data: dict[str, Any]) -> Study:
        return study_create_from_template(
            by=self.by,
            template=data["template"],
            slug=data["slug"],
            title=data["title"],
            workspace=data["workspace"],
        )


#: The sections of the settings: title, fields.
SECTIONS = (
    (
        "What annotators read",
        ("title", "summary", "contact", "consent_text", "instructions_text"),
    ),
    (
        "Items and raters",
        (
            "language", "redundancy", "max_items_per_rater", "one_condition_per_instance", "lease_minutes", "extra_time",
            "unfinished_per_hour", "undo_seconds", "min_seconds", "seed",
        ),
    ),
    ("Who can join", ("join_open", "requires", "joins_per_hour", "joins_per_address")),
    (
        "Recruitment",
        (
            "panel", "panel_links", "panel_study_ids", "join_parameters", "completion_code", "screened_out_code",
            "nothing_left_code",
        ),
    ),
    (
        "Practice and exam",
        (
            "practice_required", "exam_required", "exam_questions", "pass_mark", "exam_attempts", "exam_wait_minutes",
            "exam_feedback", "exam_key_early", "revoked_work",
        ),
    ),
    ("Personal data", ("erasure_policy", "retention_days")),
    ("Pay", ("pay_per_item", "exam_pay", "currency", "minutes_per_item", "pay_floor_per_hour")),
)  # fmt: skip
LABELS = {
    "language": "Language of the study's texts and items",
    "redundancy": "Raters per item",
    "max_items_per_rater": "Maximum items per rater",
    "one_condition_per_instance": "One condition per instance",
    "lease_minutes": "Minutes to answer",
    "extra_time": "Extensions per task",
    "unfinished_per_hour": "Maximum unfinished tasks per person and hour",
    "undo_seconds": "Seconds to undo an answer",
    "min_seconds": "Minimum plausible time, in seconds",
    "seed": "Order seed",
    "join_open": "Open to anyone with the link",
    "joins_per_hour": "Maximum new participants per hour",
    "joins_per_address": "Maximum new guests per hour from one address",
    "join_parameters": "Ids on the join link",
    "panel": "Recruitment panel",
    "panel_links": "Links from the panel",
    "panel_study_ids": "Studies on Prolific",
    "completion_code": "Code for completing",
    "screened_out_code": "Code for failing the exam",
    "nothing_left_code": "Code for finding no task",
    "requires": "Required qualifications",
    "practice_required": "Practice before the exam",
    "exam_required": "Exam before the tasks",
    "exam_questions": "Questions in the exam",
    "pass_mark": "Correct answers to pass",
    "exam_attempts": "Attempts",
    "exam_wait_minutes": "Minutes between attempts",
    "exam_feedback": "Show wrong answers with reasons",
    "exam_key_early": "Show correct answers before the last attempt",
    "revoked_work": "Open tasks when a qualification is revoked",
    "erasure_policy": "When a participant's data is removed",
    "retention_days": "Days to keep personal data after closing",
    "pay_per_item": "Pay per item",
    "exam_pay": "Pay for the exam",
    "minutes_per_item": "Estimated minutes per item",
    "pay_floor_per_hour": "Minimum pay per hour",
}
REQUIRES = "Only people with all of these qualifications can join. They can earn them in another study, or a researcher can grant them."


@dataclass(frozen=True)
class SettingsSection:
    """Fields of the settings under one heading."""

    title: str
    fields: tuple[forms.BoundField, ...]

    @property
    def errors(self) -> int:
        return sum(1 for field in self.fields if field.errors)


class StudyForm(forms.ModelForm):
    """A study's settings. Instructions and questions that a lab wrote are checked by the service, at their field."""

    requires = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, help_text=REQUIRES, label=LABELS["requires"]
    )

    class Meta:
        model = Study
        fields = tuple(name for _, names in SECTIONS for name in names)
        labels = LABELS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        known = dict(requirement_choices(workspace_id=self.instance.workspace_id))
        known |= {one: one for one in self.instance.requires or [] if one not in known}
        cast(forms.MultipleChoiceField, self.fields["requires"]).choices = list(known.items())
        if self.instance.state != Study.State.DRAFT:
            self.fields["seed"].disabled = True
        for name, rows in (("summary", 3), ("consent_text", 12), ("instructions_text", 12)):
            self.fields[name].widget.attrs["rows"] = rows
        describe(self)

    def sections(self) -> list[SettingsSection]:
        return [SettingsSection(title, tuple(self[name] for name in names)) for title, names in SECTIONS]

    def clean(self) -> Any:
        data = super().clean() or self.cleaned_data
        meant = copy(self.instance)
        for name, value in data.items():
            setattr(meant, name, value)
        for name, faults in study_texts_clean(meant).items():
            self.add_error(name if name in self.fields else None, faults)
        return data

    def validate_constraints(self) -> None:
        """Skip the constraints here: the service checks them and explains what is wrong."""
