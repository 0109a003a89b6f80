"""Forms that grant and revoke qualifications."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from annotator.forms.fields import SafeTextField
from annotator.hit_types.registry import hit_types
from annotator.models import Membership, Qualification, Rater, User
from annotator.selectors.study import studies_for
from annotator.services.exam import qualification_grant


class GrantForm(forms.ModelForm):
    """Grant a qualification. ``by`` can grant it to participants of the studies that they may edit."""

    by: User
    rater: Rater
    name = SafeTextField(
        label="Rater",
        widget=UnfoldAdminTextInputWidget,
        help_text="The name under People of someone who takes part in a study that you can edit.",
    )
    hit_type = forms.ChoiceField(label="HIT type", widget=UnfoldAdminSelectWidget)
    why = SafeTextField(
        label="Why",
        max_length=2_000,
        widget=UnfoldAdminTextareaWidget,
        help_text="Saved with the qualification.",
    )

    class Meta:
        model = Qualification
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds = [(kind.name, kind.title) for kind in hit_types().values() if not kind.external]
        self.fields["hit_type"].choices = kinds  # type: ignore[attr-defined]

    def clean_name(self) -> str:
        mine = studies_for(user=self.by, role=Membership.Role.EDITOR)
        name = self.cleaned_data["name"]
        found = Rater.objects.filter(name=name, kind="human", participations__study__in=mine).first()
        if found is None:
            raise forms.ValidationError(
                "No participant of your studies has this name. Copy the name from People."
            )
        self.rater = found
        return str(name)

    def _post_clean(self) -> None:
        """The service creates and validates the row."""

    def save(self, commit: bool = True) -> Qualification:
        data = self.cleaned_data
        self.instance = qualification_grant(
            rater=self.rater, hit_type=data["hit_type"], by=self.by, reason=data["why"]
        )
        return self.instance

    def save_m2m(self) -> None:
        """Nothing to do: the service has saved everything."""


class RevokeForm(forms.Form):
    why = SafeTextField(label="Why", max_length=2_000, widget=UnfoldAdminTextareaWidget)
