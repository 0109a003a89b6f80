"""Forms of a study's recruitment through its panel's API."""

from __future__ import annotations

from typing import Any

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField, describe
from annotator.models import Study
from annotator.recruitment.api import ACTIONS, SCREEN_OUT
from annotator.recruitment.panel import Panel
from annotator.selectors.panel_plan import actions_of, codes_of, group_choices, plan_values


class PanelTokenForm(PlainForm):
    """The API token of a panel. It's never shown again, also not in the form that was refused."""

    token = SafeTextField(
        max_length=500,
        label="API token",
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, panel: Panel, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[
            "token"
        ].help_text = f"{panel.hints.get('token', '')} It is tested now, stored encrypted, and never shown again.".strip()
        describe(self)


class ProjectForm(PlainForm):
    """The panel's project in which studies are created; its value is ``workspace/project``."""

    place = forms.ChoiceField(label="Workspace and project")

    def __init__(self, *args: Any, choices: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["place"].choices = choices  # type: ignore[attr-defined]


class PanelStudyForm(PlainForm):
    """A new study at the panel; it begins with what ours says."""

    title = SafeTextField(max_length=120, help_text="Participants see it in their list of studies.")
    description = SafeTextField(
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="What participants read before they start.",
    )
    minutes = forms.IntegerField(
        min_value=1,
        max_value=1_440,
        label="Estimated minutes",
        help_text="With consent, instructions, practice and exam.",
    )
    reward = forms.DecimalField(min_value=0, max_value=10_000, max_digits=8, decimal_places=2)
    places = forms.IntegerField(
        min_value=1,
        max_value=100_000,
        help_text="Once the study is published there, places can only be added.",
    )
    devices = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Devices")
    filters = SafeTextField(
        required=False, max_length=10_000, widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One a line, by the names that the panel uses: “Fluent languages: English” or “Age: 18-40”. Leave empty for everybody.",
    )  # fmt: skip
    group = forms.ChoiceField(
        required=False, label="Only people who are qualified",
        help_text="Their ids are put into a participant group on the panel, and only that group sees the study.",
    )  # fmt: skip
    keep_out = forms.BooleanField(
        required=False, label="Keep out participants of this workspace's other studies",
        help_text="Nobody who has taken part in one of them on the panel sees this one.",
    )  # fmt: skip
    screen_out_reward = forms.DecimalField(
        required=False, min_value=0, max_digits=8, decimal_places=2, label="Screen-out reward",
        help_text="For codes that pay one. Some accounts can't use it; the panel says so when the study is created.",
    )  # fmt: skip
    slots = forms.IntegerField(
        required=False, min_value=1, max_value=100_000, label="Most screen-outs",
        help_text="The panel pauses the study when this many people have been screened out.",
    )  # fmt: skip

    def __init__(self, *args: Any, study: Study, panel: Panel, **kwargs: Any) -> None:
        super().__init__(*args, initial=plan_values(study, panel), **kwargs)
        self.fields[
            "reward"
        ].help_text = f"For one person, in {study.currency}: the pay of a person who does everything."
        self.fields["devices"].choices = list(panel.devices.items())  # type: ignore[attr-defined]
        groups = group_choices(study)
        self.fields["group"].choices = [("", "everybody"), *groups]  # type: ignore[attr-defined]
        if not groups:
            del self.fields["group"]
        self.codes = codes_of(study, panel)
        for code in self.codes:
            self.fields[f"action_{code.field}"] = forms.ChoiceField(
                choices=[(action, ACTIONS[action]) for action in actions_of(code)],
                label=f"{code.label} ({getattr(study, code.field)})",
                initial=self.initial.get(f"action_{code.field}"),
            )
        self.order_fields([name for name in self.fields if name not in ("screen_out_reward", "slots")])
        if not any(SCREEN_OUT in actions_of(code) for code in self.codes):
            del self.fields["screen_out_reward"], self.fields["slots"]
        describe(self)
