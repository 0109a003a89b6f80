"""The form of a new release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from evaluation.models import Release, ReleaseText, Report
from evaluation.releases.creators import CreatorInvalid, creators_read
from evaluation.releases.small_cells import Coarsening
from evaluation.selectors.release import attributes_of


class ReleaseForm(forms.Form):
    """What the data card says, and which attributes of raters are released."""

    title = forms.CharField(max_length=200, required=False, label="Title")
    description = forms.CharField(
        required=False,
        label="Description",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What the data are, and who collected them.",
    )
    licence = forms.CharField(
        max_length=200, required=False, label="Licence", help_text="For example CC BY 4.0."
    )
    citation = forms.CharField(
        required=False,
        label="Citation",
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="How to cite the data.",
    )
    authors = forms.CharField(
        required=False,
        max_length=20_000,
        label="Authors",
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": "Doe, Jane; 0000-0002-1825-0097; University of Owls"}
        ),
        help_text="One a line: family name, given names; ORCID; affiliation (the last two may be missing). They are named in the citation "
        "and in the metadata for repositories.",
    )
    free_text = forms.BooleanField(
        required=False,
        label="Release free text",
        help_text="Answers in words and reasons of exclusions are left out unless you tick this. Then you approve or remove each text "
        "before the file can be downloaded.",
    )
    attributes = forms.MultipleChoiceField(
        required=False,
        label="Attributes of raters",
        widget=forms.CheckboxSelectMultiple,
        help_text="Release only what the consent text allows. Attributes that the report is grouped or filtered by are always "
        "released, because the report can't be computed without them.",
    )

    small_groups = forms.ChoiceField(
        required=False,
        choices=Release.SmallGroups.choices,
        initial=Release.SmallGroups.COARSEN,
        label="Attributes that few raters share",
        help_text="A value, or a combination of values, that few share can identify someone. Choose what happens to it.",
    )
    smallest_group = forms.IntegerField(
        required=False,
        min_value=2,
        max_value=1000,
        initial=5,
        label="Smallest group",
        help_text="Every combination of attributes in the release is shared by at least this many raters.",
    )
    timings = forms.ChoiceField(
        required=False,
        choices=Release.Timings.choices,
        initial=Release.Timings.EXACT,
        label="Times of answers",
        help_text="The seconds that each answer took.",
    )

    def clean_small_groups(self) -> str:
        """The default if nothing was sent."""
        return self.cleaned_data["small_groups"] or Release.SmallGroups.COARSEN

    def clean_smallest_group(self) -> int:
        """The default if nothing was sent."""
        return self.cleaned_data["smallest_group"] or 5

    def clean_timings(self) -> str:
        """The default if nothing was sent."""
        return self.cleaned_data["timings"] or Release.Timings.EXACT

    @property
    def coarsening(self) -> Coarsening:
        """How attributes and times are coarsened."""
        sent = self.cleaned_data
        return Coarsening(sent.get("smallest_group", 5), sent.get("small_groups", "coarsen"), sent["timings"])

    def clean_authors(self) -> str:
        """The lines, if each names somebody."""
        authors: str = self.cleaned_data["authors"]
        try:
            creators_read(authors.splitlines())
        except CreatorInvalid as error:
            raise forms.ValidationError(f"{error}.") from None
        return authors

    def __init__(self, *args: Any, report: Report, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = attributes_of(report)
        if names:
            self.fields["attributes"].choices = [(name, name.replace("_", " ")) for name in names]  # type: ignore[attr-defined]
        else:
            for name in ("attributes", "small_groups", "smallest_group"):
                del self.fields[name]


class TextDecisionsForm(forms.Form):
    """Decisions on some of the free texts of a release: a field for each, or one for all of them."""

    def __init__(self, *args: Any, texts: Sequence[ReleaseText], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.texts = texts
        choices = [("approved", "Release"), ("removed", "Remove")]
        for text in texts:
            self.fields[f"text-{text.pk}"] = forms.ChoiceField(choices=choices, required=False)

    @property
    def decisions(self) -> dict[int, str]:
        """The id of each text that was decided on, and the decision."""
        both = {"approve_all": "approved", "remove_all": "removed"}
        for name, decision in both.items():
            if name in self.data:
                return {text.pk: decision for text in self.texts}
        decisions = {text.pk: self.cleaned_data[f"text-{text.pk}"] for text in self.texts}
        return {pk: decision for pk, decision in decisions.items() if decision}
