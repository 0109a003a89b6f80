"""Forms of a new study and of its settings."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, validate_slug
from django.utils.text import slugify

from annotator.forms.fields import SafeTextField, describe
from annotator.forms.service import ServiceForm
from annotator.forms.workspace import WorkspaceField, workspace_choices
from annotator.models import Change, SettingGroup, Study, User, limits_of, settings_of
from annotator.recruitment.registry import PANELS, panel_choices, panel_get
from annotator.selectors.qualification import requirement_choices
from annotator.selectors.study import slug_near
from annotator.services.study_check import study_texts_clean
from annotator.services.study_templates import (
    StudyTemplate,
    declared_templates,
    study_create_from_template,
    study_templates,
)


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
            (asks, [(one.key, one) for one in those])
            for asks, those in groupby(
                [*declared_templates(user=by), *study_templates()], key=lambda one: one.asks
            )
        ]
        describe(self)

    def template_groups(self) -> list[tuple[str, list[tuple[str, StudyTemplate]]]]:
        """The templates by the question that they answer, each with the value of its radio button."""
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


#: The settings on the page, in its order.
SETTINGS = {name: one for name, one in settings_of(Study).items() if one.section}
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
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=REQUIRES,
        label=SETTINGS["requires"].label,
    )

    class Meta:
        model = Study
        fields = tuple(SETTINGS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        known = dict(requirement_choices(workspace_id=self.instance.workspace_id))
        known |= {one: one for one in self.instance.requires or [] if one not in known}
        cast(forms.MultipleChoiceField, self.fields["requires"]).choices = list(known.items())
        launched = self.instance.state != Study.State.DRAFT
        for name, setting in SETTINGS.items():
            field = self.fields[name]
            field.disabled = launched and setting.change is Change.UNTIL_LAUNCH
            if setting.rows:
                field.widget.attrs["rows"] = setting.rows
            if limits := limits_of(Study, name):
                ends = MinValueValidator | MaxValueValidator
                field.validators = [
                    validator for validator in field.validators if not isinstance(validator, ends)
                ] + [limits]
        self._panel_words()
        describe(self)

    def _panel_words(self) -> None:
        """The study's panel, or each that could be chosen, explains the settings that are about it."""
        panel = panel_get(self.instance.panel)
        for one in (panel,) if panel else PANELS:
            for name in one.hints.keys() & self.fields.keys():
                self.fields[name].help_text = f"{self.fields[name].help_text} {one.hints[name]}"
        if panel is not None:
            self.fields["panel_study_ids"].label = f"Studies on {panel.title}"
        if (
            panel is not None and not panel.installed
        ):  # kept as the choice, so that saving doesn't open the study to everyone
            choices = cast(forms.ChoiceField, self.fields["panel"])
            choices.choices = [*panel_choices(), (panel.name, f"{panel.title} (not installed)")]

    def sections(self) -> list[SettingsSection]:
        return [
            SettingsSection(
                section.value, tuple(self[name] for name, one in SETTINGS.items() if one.section is section)
            )
            for section in SettingGroup
        ]

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
