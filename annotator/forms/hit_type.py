"""The forms of the editor of HIT types."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.validators import ProhibitNullCharactersValidator

from annotator.forms.fields import SafeTextField
from annotator.forms.workspace import WorkspaceField, workspace_choices
from annotator.hit_types.declaration.document import MOST_BYTES
from annotator.models import User
from annotator.services.gallery_demo import gallery_demos


class SourceFormField(forms.CharField):
    """A file's text with whatever characters it has: those that can't be stored are refused with their line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)
        self.validators = [
            validator
            for validator in self.validators
            if not isinstance(validator, ProhibitNullCharactersValidator)
        ]


class HitTypeForm(forms.Form):
    """A file's text, and where the type is saved: ``base`` is the version that the text was made from, 0 for a new type."""

    # Not stripped, so that its problems have the lines that the person sees.
    source = SourceFormField(
        label="File", max_length=MOST_BYTES,
        error_messages={"max_length": f"The file is too long. A HIT type has at most {MOST_BYTES:,} characters."},
        widget=forms.Textarea(attrs={"rows": 30, "spellcheck": "false", "dir": "ltr", "autocapitalize": "off", "wrap": "off"}),
    )  # fmt: skip
    base = forms.IntegerField(min_value=0, max_value=1_000_000, widget=forms.HiddenInput)
    workspace = WorkspaceField(
        required=False,
        widget=forms.Select,
        help_text="Its members can see the type and use it in their studies.",
    )

    def __init__(self, *args: Any, by: User, new: bool, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": ""} | kwargs)
        if new:
            workspace_choices(self, user=by)
            self.fields["workspace"].required = True
        else:
            del self.fields["workspace"]


class CopyForm(forms.Form):
    """The name of a copy, and the workspace that gets it."""

    name = SafeTextField(
        label="Name of the copy", max_length=40, help_text="Lower-case letters, digits and _."
    )
    workspace = WorkspaceField(widget=forms.Select)

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "prefix": "copy"} | kwargs)
        workspace_choices(self, user=by)


class TryForm(forms.Form):
    """The type of the gallery of which a demo study is made, and the workspace that gets it."""

    hit_type = forms.ChoiceField(widget=forms.HiddenInput)
    workspace = WorkspaceField(
        widget=forms.Select, label="Workspace of the demo study", help_text="Its members can open the study."
    )

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "try_%s"} | kwargs)
        cast(forms.ChoiceField, self.fields["hit_type"]).choices = [(name, name) for name in gallery_demos()]
        workspace_choices(self, user=by)
