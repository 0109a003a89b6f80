"""Forms for a new report: its studies and choices. Forms validate and services write."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django import forms
from django.db.models import Exists, OuterRef
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from annotator.models import Judgment, Membership, Rater, Study, User
from annotator.selectors.study import studies_for
from evaluation.forms.filters import ColumnMenu, FilterWidget
from evaluation.forms.styling import fields_style
from evaluation.models import Report
from evaluation.reports.choices import Choices, ChoicesError, ChoiceSpec, specs
from evaluation.selectors.attributes import StudyAttribute, filter_faults, study_attributes
from evaluation.services.report import report_create


def choice_field(spec: ChoiceSpec, simulators: Iterable[str] = ()) -> forms.Field:
    """The form field of a choice; ``Choices.parse`` checks the value."""
    common: dict[str, Any] = {"label": spec.label, "help_text": spec.hint, "required": False}
    common["initial"] = spec.default
    if spec.kind == "flag":
        return forms.BooleanField(**common)
    if spec.kind == "whole":
        widget: forms.Widget = forms.NumberInput(attrs={"min": spec.least, "inputmode": "numeric"})
        return forms.CharField(**common, widget=widget)
    if spec.options:
        options = list(spec.options.items())
        if spec.kind == "rule":
            options += [(f"single:{name}", f"{name} alone") for name in simulators]
        return forms.CharField(**common, widget=forms.Select(choices=options))
    return forms.CharField(**common, max_length=spec.most or 200)


def simulators_of(studies: Collection[Study]) -> list[str]:
    """Names of the simulators whose labels a report on these studies can use."""
    judged = Judgment.objects.filter(rater=OuterRef("pk"), study__in=studies)
    simulators = Rater.objects.filter(Exists(judged), kind=Rater.Kind.SIMULATOR)
    return sorted(set(simulators.values_list("name", flat=True)))


class AsksForChoices(forms.BaseForm):
    """The fields of all choices, and their values as ``choices`` once the form is valid."""

    choices: Choices
    attributes: list[StudyAttribute]

    def add_choices(self, studies: Collection[Study]) -> None:
        simulators = simulators_of(studies)
        self.attributes = study_attributes(studies=studies)
        workspaces = {study.workspace_id for study in studies}
        for spec in specs():
            self.fields[spec.name] = choice_field(spec, simulators)
            if spec.name == "encoder":
                self.fields[spec.name].widget = forms.Select(choices=self._encoders(workspaces))
            if spec.kind == "rule":
                self._keep_rule(self.fields[spec.name])
        self.fields["by"].widget = ColumnMenu(self.attributes, str(self.initial.get("by") or ""))
        self.fields["only"].widget = FilterWidget(self.attributes)

    def _encoders(self, workspaces: Collection[int | None]) -> list[tuple[str, str]]:
        """The available encoders, and the one chosen before, even if it is no longer available."""
        from evaluation.selectors.endpoint import (
            encoders_offered,  # imported late: pages do without the client and numpy
        )

        offered, given = encoders_offered(workspaces), str(self.initial.get("encoder") or "")
        return offered if not given or given in dict(offered) else [*offered, (given, given)]

    def _keep_rule(self, asked: forms.Field) -> None:
        """Keep a rule in the menu that names a rater who isn't among the simulators."""
        given = str(self.initial.get("rule") or "")
        kind, _, rater = given.partition(":")
        widget: Any = asked.widget
        if kind == "single" and given not in dict(widget.choices):
            widget.choices = [*widget.choices, (given, f"{rater} alone")]

    def check_choices(self, cleaned: dict[str, Any]) -> None:
        """Empty fields have their defaults; each error is added to its field."""
        given = {spec.name: cleaned.get(spec.name) for spec in specs()}
        try:
            self.choices = Choices.parse({n: value for n, value in given.items() if value not in ("", None)})
        except ChoicesError as error:
            for name, message in error.errors.items():
                self.add_error(name, f"{message[:1].upper()}{message[1:]}.")
            return
        faults = filter_faults(self.attributes, by=self.choices.by, only=self.choices.only)
        for name, message in faults.items():
            self.add_error(name, f"{message}.")


class ReportForm(AsksForChoices, forms.Form):
    """A new report on a study, on the study's own pages."""

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "choice-%s", **kwargs})
        self.add_choices([study])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.check_choices(cleaned)
        return cleaned


class NewReportForm(AsksForChoices, forms.ModelForm):
    """A new report in the admin. With several studies, it is one report across them."""

    studies = forms.ModelMultipleChoiceField(
        Study.objects.none(),
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="With several, the papers’ tables have a row for each study.",
    )

    class Meta:
        model = Report
        fields = ()

    user: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = studies_for(user=self.user, role=Membership.Role.REVIEWER).order_by("title", "pk")
        self.fields["studies"].queryset = mine  # type: ignore[attr-defined]
        self.add_choices(mine)
        fields_style(self)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.check_choices(cleaned)
        return cleaned

    def save(self, commit: bool = True) -> Report:
        """Request the report; the service writes it regardless of ``commit``."""
        first, *others = sorted(self.cleaned_data["studies"], key=lambda study: study.pk)
        return report_create(study=first, others=others, choices=self.choices.to_json(), user=self.user)

    def save_m2m(self) -> None:
        """The service has set the studies."""
