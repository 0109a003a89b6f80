"""The form of a study's analysis plan: hypotheses and exclusion rules one a line, the rest as fields."""

from __future__ import annotations

from typing import Any

from django import forms

from evaluation.planning.plan_document import (
    CORRECTIONS,
    STOPPING,
    TESTS,
    Plan,
    PlanError,
    hypothesis_read,
)
from evaluation.reports.choices import RULES

#: A field of the plan -> the form's field that shows its errors, where they differ.
_SHOWN_AT = {"options": "rule", "plan": None}


class PlanForm(forms.Form):
    """A plan without its options other than the rule of aggregation: those stay as a file has set them."""

    hypotheses = forms.CharField(
        max_length=20_000,
        label="Hypotheses",
        widget=forms.Textarea(attrs={"rows": 5, "placeholder": "H1: precision of robot-a > robot-b by 0.05"}),
        help_text="One a line, as NAME: METRIC of WHOM > OTHER by SMALLEST EFFECT. The sign is >, < or !=.",
    )
    rule = forms.CharField(
        max_length=200, initial="majority", label="How several raters’ labels are combined",
        help_text=f"One of {', '.join(RULES)}, or single:RATER.",
    )  # fmt: skip
    exclusion_rules = forms.CharField(
        required=False,
        max_length=20_000,
        label="Exclusion rules",
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": "Too fast: more than half of the answers under 5 seconds"}
        ),
        help_text="One a line: NAME: RULE. An exclusion follows a rule if its reason begins with the name.",
    )
    test = forms.ChoiceField(choices=list(TESTS.items()), label="Test of two systems")
    correction = forms.ChoiceField(choices=list(CORRECTIONS.items()), label="Correction")
    alpha = forms.FloatField(initial=0.05, label="α, two-sided")
    stopping = forms.ChoiceField(choices=list(STOPPING.items()), label="Stopping rule")
    looks = forms.CharField(
        required=False,
        max_length=500,
        label="Looks",
        help_text="For alpha spending: shares of the judgments, such as 0.5, 0.75, 1.",
    )
    notes = forms.CharField(
        required=False, max_length=2_000, label="Notes", widget=forms.Textarea(attrs={"rows": 3}), help_text="Markdown."
    )  # fmt: skip

    @staticmethod
    def values_of(plan: Plan) -> dict[str, Any]:
        """The form's initial values for a plan."""
        return {
            "hypotheses": "\n".join(map(str, plan.hypotheses)),
            "rule": plan.options.get("rule", "majority"),
            "exclusion_rules": "\n".join(f"{name}: {rule}" for name, rule in plan.exclusion_rules.items()),
            "test": plan.test,
            "correction": plan.correction,
            "alpha": plan.alpha,
            "stopping": plan.stopping,
            "looks": ", ".join(f"{share:g}" for share in plan.looks),
            "notes": plan.notes,
        }

    def clean_hypotheses(self) -> list[dict[str, Any]]:
        found, errors = [], []
        for number, line in enumerate(_lines(self.cleaned_data["hypotheses"]), 1):
            try:
                found.append(hypothesis_read(line))
            except ValueError as error:
                errors.append(f"Line {number}: {error}")
        if errors:
            raise forms.ValidationError(errors)
        return found

    def clean_exclusion_rules(self) -> dict[str, str]:
        found = {}
        for number, line in enumerate(_lines(self.cleaned_data["exclusion_rules"]), 1):
            name, colon, rule = line.partition(":")
            if not colon or not name.strip() or not rule.strip():
                raise forms.ValidationError(f"Line {number}: got {line!r}; expected “NAME: RULE”.")
            found[name.strip()] = rule.strip()
        return found

    def clean_looks(self) -> list[Any]:
        parts = [part.strip() for part in self.cleaned_data["looks"].split(",") if part.strip()]
        try:
            return [float(part) for part in parts]
        except ValueError:
            raise forms.ValidationError("Expected shares separated by commas, such as 0.5, 1.") from None

    def document(self, before: Plan | None) -> dict[str, Any]:
        """The plan as a document. Options and texts of hypotheses that the form doesn't show are those of the plan ``before``."""
        found = dict(self.cleaned_data)
        rule = found.pop("rule")
        options = dict(before.options) if before else {}
        if rule != "majority" or "rule" in options:
            options["rule"] = rule
        texts = {hypothesis.name: hypothesis.text for hypothesis in before.hypotheses} if before else {}
        hypotheses = [one | {"text": texts.get(one["name"], "")} for one in found.pop("hypotheses")]
        return found | {"hypotheses": hypotheses, "options": options}

    def show(self, error: PlanError) -> None:
        """Put the errors of a plan at their fields."""
        for name, text in error.errors.items():
            top = name.partition("[")[0].partition(".")[0]
            field = _SHOWN_AT.get(top, top)
            self.add_error(field if field in self.fields else None, f"{name}: {text}")


class PowerForm(forms.Form):
    """What a power calculation takes for granted."""

    precision = forms.FloatField(
        initial=0.7, label="Value of the second system", help_text="Its precision, or its share of the label; the first has the smallest effect of interest more. For gain and NSG: accuracy without the explanation."
    )  # fmt: skip
    accuracy = forms.FloatField(
        initial=0.85,
        label="Raters’ accuracy",
        help_text="How often a rater gives the label of a careful reader.",
    )
    clustering = forms.FloatField(
        initial=0.1, label="Correlation within instances", help_text="Between follow-ups of one instance."
    )

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        if not self.errors:
            try:
                from evaluation.planning.plan_drawn import Assumed  # with NumPy, which few web processes need

                self.assumed = Assumed(**found)
            except ValueError as error:
                self.add_error(str(error).partition(":")[0], str(error))
        return found


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
