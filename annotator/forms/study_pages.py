"""Forms of a study's pages."""

from __future__ import annotations

from typing import Any

from django import forms

from annotator.forms.fields import NoteField, PlainForm, SafeTextField
from annotator.models import Export, LedgerEntry, Membership
from annotator.selectors.judgment import FILTERS


class ReasonForm(PlainForm):
    reason = NoteField(help_text="Kept with the exclusion and shown in reports.")


class ExcludeForm(ReasonForm):
    """Why something is excluded, and whether other people are asked instead, where the study can ask any (``again``)."""

    collect_again = forms.BooleanField(
        required=False,
        label="Ask other people instead",
        help_text="Opens a place on each item that this leaves with fewer raters than the study asks for. Nobody who has"
        " had the item gets it.",
    )

    def __init__(self, *args: Any, again: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not again:
            del self.fields["collect_again"]


class WebhookSecretForm(PlainForm):
    secret = SafeTextField(
        max_length=500,
        required=False,
        widget=forms.PasswordInput,
        help_text="It is stored encrypted and not shown again. Leave empty to refuse webhooks.",
    )

    def __init__(self, *args: Any, hint: str = "", links: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if links:
            self.fields[
                "secret"
            ].help_text = "It is stored encrypted and not shown again. Leave empty to refuse signed links."
        self.fields["secret"].help_text = f"{hint} {self.fields['secret'].help_text}".strip()


class ExportForm(PlainForm):
    form = forms.ChoiceField(choices=Export.Form.choices, label="Rows")
    format = forms.ChoiceField(choices=Export.Format.choices)
    rater_kind = forms.ChoiceField(
        choices=[("", "people and simulators"), ("human", "people"), ("simulator", "simulators")],
        required=False,
        label="Raters",
    )
    excluded = forms.ChoiceField(
        choices=[
            ("", "all, with the reason of each exclusion"),
            ("no", "only judgments that count"),
            ("yes", "only excluded judgments"),
        ],
        required=False,
        label="Exclusions",
    )

    rehearsal = forms.ChoiceField(
        choices=[("", "left out"), ("both", "included, with a column that says so"), ("yes", "only these")],
        required=False,
        label="Rehearsal raters",
    )

    def filters(self) -> dict[str, str]:
        return {name: self.cleaned_data[name] for name in FILTERS if self.cleaned_data.get(name)}


class RehearsalForm(PlainForm):
    """How a study is rehearsed."""

    raters = forms.IntegerField(
        min_value=1,
        max_value=200,
        initial=12,
        label="Raters",
        help_text="Synthetic annotators, from 1 to 200.",
    )
    accuracy = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=0.85,
        label="Accuracy",
        help_text="Their mean share of correct answers, from 0 to 1.",
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        label="Random seed",
        help_text="The same seed gives the same answers.",
    )


class BonusForm(PlainForm):
    """A bonus for one participant, or the pay for a screen-out."""

    kind = forms.ChoiceField(
        choices=[(one.value, str(one.label)) for one in (LedgerEntry.Kind.BONUS, LedgerEntry.Kind.SCREEN_OUT)], required=False,
        label="For", help_text="A screen-out pays the time of somebody who wasn't admitted to the tasks.",
    )  # fmt: skip
    amount = forms.DecimalField(
        max_digits=8, decimal_places=2, label="Amount", help_text="In the study's currency, in whole cents."
    )
    reason = NoteField(help_text="The participant can read the reason.")

    def clean_kind(self) -> str:
        """A bonus, where nothing was chosen."""
        return str(self.cleaned_data["kind"] or LedgerEntry.Kind.BONUS.value)


class DuplicateForm(PlainForm):
    """The name of a copy, and whether it takes the material."""

    title = SafeTextField(max_length=200, help_text="Shown to annotators.")
    slug = forms.SlugField(
        max_length=80,
        label="Short name",
        help_text="Letters, digits and hyphens. Used in addresses and file names.",
    )
    material = forms.BooleanField(
        required=False, label="Copy the items too", help_text="Judgments and participants are never copied."
    )


class DeleteForm(PlainForm):
    """The typed confirmation of a deletion."""

    typed = SafeTextField(
        max_length=80, label="Short name of the study", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )


class InviteForm(PlainForm):
    """Whom to invite, and as what."""

    email = forms.EmailField(
        required=False,
        label="Email",
        help_text="We email the invitation to this address. Leave empty to get a link that you send yourself.",
    )
    role = forms.ChoiceField(choices=Membership.Role.choices, initial=Membership.Role.VIEWER)


class TokenForm(PlainForm):
    """A new API token: what uses it, and what it may do besides reading."""

    name = SafeTextField(max_length=100, help_text="What uses it, such as the name of a script.")
    may_write = forms.BooleanField(
        required=False, label="Write", help_text="Change studies and items, import, exclude."
    )
    may_run = forms.BooleanField(
        required=False, label="Run models", help_text="Start, stop and pay for runs of simulators."
    )
    may_see_people = forms.BooleanField(
        required=False,
        label="Personal data",
        help_text="Read judgments, exclusions and exports, with participants' names.",
    )
    days = forms.IntegerField(
        min_value=1, max_value=365, initial=365, label="Days until it expires", help_text="From 1 to 365."
    )


class DecisionForm(PlainForm):
    """The answer to a participant who asks for their data to be deleted."""

    note = NoteField(
        required=False,
        label="What you tell the participant",
        help_text="They can read it on their page. If you decline, give the reason.",
    )
    sure = forms.BooleanField(required=False, label="Remove their data for good")
