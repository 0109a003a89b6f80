"""Forms of the import pages: what each column of the file means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.hit_types.base import HitType, Level
from annotator.services.images import EXTENSIONS
from annotator.services.imports.readers import FORMATS
from annotator.services.imports.value_columns import (
    MTURK_ANSWER,
    MTURK_INPUT,
    MTURK_WORKER,
    JudgmentColumns,
    ValueColumn,
)

UNNAMED = "(the file names no rater)"
ONE = "(one rater for all rows)"


class UploadForm(PlainForm):
    file = forms.FileField(
        help_text="JSON lines, CSV, TSV, Parquet or Excel (.xlsx). You see a preview before anything is stored.",
        widget=forms.FileInput(attrs={"accept": ",".join(FORMATS)}),
    )


class ManyFilesInput(forms.FileInput):
    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """Several files; cleaned to a list."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        given = data if isinstance(data, list | tuple) else [data]
        return [forms.FileField.clean(self, one, initial) for one in given]


class ImagesForm(PlainForm):
    """Images for the material, one by one or in zip archives."""

    images = ManyFilesField(
        label="Images",
        widget=ManyFilesInput(attrs={"accept": ",".join((*EXTENSIONS, ".zip"))}),
        help_text="PNG, JPEG, WebP or GIF, or a zip archive of them. Annotators get the files as they are, so remove the place "
        "where a photo was taken, and other hidden details, before you upload it.",
    )


class MaterialForm(PlainForm):
    """For each column of the HIT type: the file's column, or one value for every row."""

    def __init__(self, *args: Any, kind: HitType, header: tuple[str, ...], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.header = header
        for column in kind.columns:
            help_id = {"aria-describedby": f"help-{column.name}"}
            self.fields[f"column-{column.name}"] = forms.ChoiceField(
                choices=[("", "-"), *((name, name) for name in header)],
                required=False,
                initial=matching(column.name, header),
                widget=forms.Select(attrs={"aria-label": f"{column.name}: column of the file", **help_id}),
            )
            self.fields[f"value-{column.name}"] = SafeTextField(
                required=False,
                max_length=2_000,
                widget=forms.TextInput(attrs={"aria-label": f"{column.name}: value for all rows", **help_id}),
            )

    def rows(self) -> list[tuple[Any, forms.BoundField, forms.BoundField]]:
        return [(c, self[f"column-{c.name}"], self[f"value-{c.name}"]) for c in self.kind.columns]

    def mapping(self) -> dict[str, str]:
        """Only the columns that were chosen, so that a missing one is reported under its own name."""
        return {
            column.name: self.cleaned_data[f"column-{column.name}"]
            for column in self.kind.columns
            if self.cleaned_data[f"column-{column.name}"] and not self.cleaned_data[f"value-{column.name}"]
        }

    def constants(self) -> dict[str, str]:
        values = {column.name: self.cleaned_data[f"value-{column.name}"] for column in self.kind.columns}
        return {name: value for name, value in values.items() if value}


def matching(name: str, header: tuple[str, ...]) -> str:
    """The file's column of the same name, or with MTurk's ``Input.`` prefix; empty where there is none."""
    lower = {column.lower(): column for column in header}
    return lower.get(name.lower()) or lower.get(f"{MTURK_INPUT}{name}".lower()) or ""


class JudgmentsForm(PlainForm):
    """What each column of a file of judgments means."""

    item = forms.ChoiceField(help_text="The column that identifies what was judged.")
    rater = forms.ChoiceField(help_text="The column that identifies who judged.")
    rater_name = SafeTextField(
        required=False,
        max_length=200,
        label="Name of the rater",
        help_text=f"If one rater made all judgments of the file: choose “{ONE}” above and name them here.",
    )
    values = forms.MultipleChoiceField(
        label="Values",
        widget=forms.CheckboxSelectMultiple,
        help_text="Each column holds the labels of one variable.",
    )
    level = forms.ChoiceField(choices=[(level, level) for level in get_args(Level)], initial="nominal")
    labels = SafeTextField(
        required=False,
        max_length=2_000,
        help_text="In order, separated by commas. Required for ordinal labels.",
    )
    listed = SafeTextField(
        required=False,
        max_length=2_000,
        label="Listed units",
        help_text="If a cell lists the units that are “yes”, such as 1|3: all units, separated by commas.",
    )
    aside = SafeTextField(
        required=False,
        max_length=200,
        label="Not a label",
        help_text="A value outside the scale and its name, such as -9=needs_more_info",
    )
    missing = SafeTextField(
        required=False,
        max_length=200,
        label="Missing",
        help_text="Labels that mean no answer, separated by commas: NA, nan",
    )
    fold_case = forms.BooleanField(
        required=False, label="Read labels that differ only in upper and lower case as one"
    )
    simulators = SafeTextField(
        required=False, max_length=2_000, help_text="Raters that are models, separated by commas."
    )
    skip_blank = forms.BooleanField(required=False, label="Skip rows without a value")

    def __init__(self, *args: Any, kind: HitType, header: tuple[str, ...], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.kind = kind
        names = [(name, name) for name in header]
        for name, choices in (
            ("item", names),
            ("rater", [*names, (ONE, ONE), (UNNAMED, UNNAMED)]),
            ("values", names),
        ):
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        self.initial = {**self.initial, **guesses(header)}
        if not kind.external:
            for name in ("level", "labels", "listed", "aside"):
                del self.fields[name]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("rater") == ONE and not cleaned.get("rater_name"):
            self.add_error("rater_name", "Give the name of the rater.")
        if cleaned.get("rater") != ONE and cleaned.get("rater_name"):
            self.add_error("rater_name", f"Leave it empty, or choose “{ONE}” above.")
        aside = cleaned.get("aside") or ""
        if aside and not all(aside.partition("=")[::2]):
            self.add_error("aside", "Expected VALUE=NAME, such as -9=needs_more_info.")
        return cleaned

    def columns(self) -> JudgmentColumns:
        data: Mapping[str, Any] = self.cleaned_data
        value, _, name = (data.get("aside") or "").partition("=")
        unnamed, one = data["rater"] == UNNAMED, data["rater"] == ONE
        return JudgmentColumns(
            item=data["item"],
            rater="" if unnamed or one else data["rater"],
            rater_name=data["rater_name"] if one else "",
            unnamed=unnamed,
            values=tuple(
                ValueColumn(
                    column,
                    level=data.get("level") or "nominal",
                    labels=words(data.get("labels")),
                    listed=words(data.get("listed")),
                )
                for column in data["values"]
            ),
            aside={value: name} if name else {},
            simulators=frozenset(words(data["simulators"])),
            skip_blank=data["skip_blank"],
            missing=words(data["missing"]),
            fold_case=data["fold_case"],
        )


def guesses(header: tuple[str, ...]) -> dict[str, Any]:
    """What the columns probably are, judging by their names."""
    answers = [name for name in header if name.startswith(MTURK_ANSWER)]
    raters = [n for n in header if n == MTURK_WORKER or n.lower() in ("rater", "worker", "annotator")]
    items = [n for n in header if n in ("Input.id", "Input.key") or n.lower() in ("item", "key", "unit")]
    return {
        "item": items[0] if items else "",
        "rater": raters[0] if raters else UNNAMED,
        "values": answers or [n for n in header if n.lower() in ("value", "label", "response")],
    }


def words(text: str | None) -> tuple[str, ...]:
    """The parts of a text separated by commas."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
