"""Forms that grant and revoke a qualification."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from annotator.forms.fields import SafeTextField
from annotator.forms.service import ServiceForm
from annotator.hit_types.registry import hit_types
from annotator.models import Membership, Qualification, Rater
from annotator.selectors.study import studies_for
from annotator.services.exam import qualification_grant


class GrantForm(ServiceForm):
    """Grants a qualification by hand, to people in the studies that ``by`` may edit."""

    rater: Rater
    name = SafeTextField(
        label="Rater",
        widget=UnfoldAdminTextInputWidget,
        help_text="The rater's name as shown under Participants, in a study that you may edit.",
    )
    hit_type = forms.ChoiceField(label="HIT type", widget=UnfoldAdminSelectWidget)
    why = SafeTextField(
        label="Reason",
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
            raise forms.ValidationError("No participant of a study that you may edit has this name.")
        self.rater = found
        return str(name)

    def create(self, data: dict[str, Any]) -> Qualification:
        return qualification_grant(
            rater=self.rater, hit_type=data["hit_type"], by=self.by, reason=data["why"]
        )


class RevokeForm(forms.Form):
    why = SafeTextField(label="Reason", max_length=2_000, widget=UnfoldAdminTextareaWidget)
