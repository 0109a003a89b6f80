"""Forms that keep a study in a file and bring it back."""

from __future__ import annotations

from typing import Any

from django import forms

from annotator.models import Study
from evaluation.models import KeptStudy
from evaluation.moves.keeping import releases_lost, reports_shared


class KeepForm(forms.Form):
    """The passphrase, and what goes because it isn't in the file."""

    passphrase = forms.CharField(
        label="Passphrase",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 12 characters. It is deleted once the file is written. Without it, nobody can bring the study back.",
    )
    again = forms.CharField(
        label="The same passphrase again",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    without_releases = forms.BooleanField(
        required=False,
        label="Delete releases that aren't in the file",
        help_text="Those that aren't finished, and those of reports on several studies. Download what you need first.",
    )
    without_shared_reports = forms.BooleanField(
        required=False,
        label="Delete the reports on this study together with others",
        help_text="They aren't in the file, and aren't kept without the study.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not reports_shared(study):
            del self.fields["without_shared_reports"]
        if not releases_lost(study).exists():
            del self.fields["without_releases"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if "again" in data and data.get("passphrase") != data["again"]:
            self.add_error("again", "The two passphrases differ.")
        data.pop("again", None)
        return data


class BringBackForm(forms.Form):
    """The key, the file if it isn't here, and another short name if the old one is taken."""

    file = forms.FileField(required=False, label="File of the study")
    passphrase = forms.CharField(
        label="Passphrase",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="The one that the study was kept with.",
    )
    key_file = forms.FileField(label="Key file", help_text="The one that the study was kept with.")
    slug = forms.SlugField(required=False, max_length=80, label="Short name")
    as_template = forms.BooleanField(
        required=False,
        label="As a template: make a new draft, and leave the study in its file",
        help_text="The draft has the study's material, texts, exam and analysis plan, which isn't sealed; no people and no judgments.",
    )

    def __init__(self, *args: Any, kept: KeptStudy, stored: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["key_file" if kept.passphrase else "passphrase"]
        self.fields["file"].required = not stored
        self.fields["file"].help_text = (
            "Leave it empty to use the copy on this installation."
            if stored
            else "As it was written or downloaded."
        )
        self.fields[
            "slug"
        ].help_text = f"Leave it empty for “{kept.slug}”. Needed if another study has that name by now, except for a template, which gets a free one."
