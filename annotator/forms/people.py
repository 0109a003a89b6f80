"""Forms about people: granting a qualification, taking one back."""

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
    """A qualification by hand. ``by`` grants it, to people of the studies that they may edit."""

    by: User
    rater: Rater
    name = SafeTextField(
        label="Rater",
        widget=UnfoldAdminTextInputWidget,
        help_text="The name as it stands under People: of somebody in a study that you edit.",
    )
    hit_type = forms.ChoiceField(label="HIT type", widget=UnfoldAdminSelectWidget)
    why = SafeTextField(
        label="Why",
        max_length=2_000,
        widget=UnfoldAdminTextareaWidget,
        help_text="Kept with the qualification.",
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
            raise forms.ValidationError("Nobody of that name takes part in a study that you edit.")
        self.rater = found
        return str(name)

    def _post_clean(self) -> None:
        """The row is made and checked by the service."""

    def save(self, commit: bool = True) -> Qualification:
        data = self.cleaned_data
        self.instance = qualification_grant(
            rater=self.rater, hit_type=data["hit_type"], by=self.by, reason=data["why"]
        )
        return self.instance

    def save_m2m(self) -> None:
        """Nothing is left to save."""


class RevokeForm(forms.Form):
    why = SafeTextField(label="Why", max_length=2_000, widget=UnfoldAdminTextareaWidget)
