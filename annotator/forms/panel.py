"""Forms of a study's recruitment through its panel's API."""

from __future__ import annotations

from typing import Any

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.recruitment.panel import Panel


class TokenForm(PlainForm):
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


class ProjectForm(PlainForm):
    """The panel's project in which studies are created; its value is ``workspace/project``."""

    place = forms.ChoiceField(label="Workspace and project")

    def __init__(self, *args: Any, choices: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["place"].choices = choices  # type: ignore[attr-defined]
