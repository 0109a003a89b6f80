"""A new report in the admin: which studies, which choices. It reads; the service checks and writes."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from annotator.models import Membership, Study, User
from annotator.selectors.study import studies_for
from evaluation.forms.dress import dress
from evaluation.models import Report
from evaluation.reports.choices import LABEL_SETS, RESTRICTIONS, RULES, Choices, ChoicesError
from evaluation.services.report import report_create


class NewReportForm(forms.ModelForm):
    """One study gives its report; several, one report across them."""

    studies = forms.ModelMultipleChoiceField(
        Study.objects.none(),
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Several: the papers’ tables with a row for each, and what needs more than one study.",
    )
    rule = forms.CharField(
        initial=Choices.rule,
        label="Several raters become one label by",
        help_text=f"{', '.join(RULES)}, or single:RATER",
        widget=UnfoldAdminTextInputWidget,
    )
    exclusions = forms.BooleanField(
        initial=True, required=False, label="Leave out what is excluded", widget=UnfoldBooleanWidget
    )
    labels = forms.ChoiceField(
        choices=list(LABEL_SETS.items()), label="Agreement is headed by", widget=UnfoldAdminSelectWidget
    )
    restriction = forms.ChoiceField(
        choices=list(RESTRICTIONS.items()), label="Systems are compared on", widget=UnfoldAdminSelectWidget
    )
    min_overlap = forms.IntegerField(
        initial=Choices.min_overlap,
        label="Least shared items of a pair",
        widget=UnfoldAdminIntegerFieldWidget,
    )
    replicates = forms.IntegerField(
        initial=Choices.replicates,
        label="Bootstrap replicates",
        help_text="0: no intervals.",
        widget=UnfoldAdminIntegerFieldWidget,
    )
    seed = forms.IntegerField(initial=Choices.seed, widget=UnfoldAdminIntegerFieldWidget)
    encoder = forms.CharField(
        initial=Choices.encoder,
        help_text="tfidf, endpoint:NAME, or a sentence-transformers model.",
        widget=UnfoldAdminTextInputWidget,
    )

    class Meta:
        model = Report
        fields = (
            "studies", "rule", "exclusions", "labels", "restriction", "min_overlap", "replicates", "seed", "encoder",
        )  # fmt: skip

    user: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = studies_for(user=self.user, role=Membership.Role.REVIEWER).order_by("title", "pk")
        self.fields["studies"].queryset = mine  # type: ignore[attr-defined]
        dress(self)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            first, *others = sorted(cleaned["studies"], key=lambda study: study.pk)
            choices = {name: cleaned[name] for name in Choices().to_json()}
            try:
                self.instance = report_create(study=first, others=others, choices=choices, user=self.user)
            except ChoicesError as error:
                for field, said in error.errors.items():
                    self.add_error(field, said)
        return cleaned

    def _post_clean(self) -> None:
        """The service has checked and made the row."""

    def save(self, commit: bool = True) -> Any:
        return self.instance

    def save_m2m(self) -> None:
        """The service has set the studies."""
