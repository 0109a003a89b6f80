"""Forms of the import pages: what each column of the file means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.hit_types.base import HitType, Level
from annotator.services.images import EXTENSIONS
from annotator.services.imports.label_counts import count_columns
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
        help_text="JSON lines, CSV, TSV, Parquet, Excel (.xlsx) or an Inspect log (.eval). You'll see a preview before anything is stored.",
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
        used = {matching(column.name, header) for column in kind.columns}
        self.fields["attributes"] = forms.MultipleChoiceField(
            label="Attributes of items",
            required=False,
            choices=[(name, name) for name in header if name not in used],
            widget=forms.CheckboxSelectMultiple,
            help_text="Your own columns that reports can be filtered and grouped by, such as domain or difficulty.",
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

    item = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        help_text="The column that identifies what was judged. You can combine several columns.",
    )
    rater = forms.ChoiceField(help_text="The column that identifies who judged.")
    rater_name = SafeTextField(
        required=False,
        max_length=200,
        label="Rater's name",
        help_text=f"If one rater made all judgments in the file, choose “{ONE}” above and enter their name here.",
    )
    values = forms.MultipleChoiceField(
        label="Values",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Each column has the labels of one variable.",
    )
    counts = forms.MultipleChoiceField(
        label="Label counts",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Instead of values, for a file with one row per item: one column per label, from low to high, with the number of "
        "times that the item got it.",
    )
    gold = SafeTextField(
        required=False,
        max_length=2_000,
        label="Correct labels",
        help_text="The column with the correct label. With several values: VALUE=COLUMN for each, separated by commas.",
    )
    cluster = forms.ChoiceField(
        required=False,
        label="Instance",
        help_text="The column of the instance (document, question) that an item belongs to. Confidence intervals resample whole instances.",
    )
    attributes = forms.MultipleChoiceField(
        label="Attributes of items",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Columns that reports can be filtered and grouped by.",
    )
    rater_attributes = forms.MultipleChoiceField(
        label="Attributes of raters",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="The same for raters, such as age or native language.",
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
        help_text="If cells list the units that are “yes”, such as 1|3, enter all units here, separated by commas.",
    )
    aside = SafeTextField(
        required=False,
        max_length=200,
        label="Not a label",
        help_text="A value outside the scale and its name, such as -9=needs_more_info.",
    )
    missing = SafeTextField(
        required=False,
        max_length=200,
        label="Missing",
        help_text="Labels that mean “no answer”, separated by commas, such as NA, nan.",
    )
    recode = SafeTextField(
        required=False,
        max_length=2_000,
        label="Read as",
        help_text="Spellings and the labels that they mean, separated by commas, such as true=yes, false=no.",
    )
    fold_case = forms.BooleanField(
        required=False, label="Read labels that differ only in upper and lower case as one"
    )
    decimal_comma = forms.BooleanField(required=False, label="Numbers have a decimal comma: 2,5")
    simulators = SafeTextField(
        required=False, max_length=2_000, help_text="Raters that are models, separated by commas."
    )
    skip_blank = forms.BooleanField(
        required=False,
        label="Skip rows without a value",
        help_text="For rows that nobody was asked about. Otherwise they are judgments without an answer.",
    )

    def __init__(self, *args: Any, kind: HitType, header: tuple[str, ...], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.kind = kind
        names = [(name, name) for name in header]
        for name, choices in (
            ("item", names),
            ("rater", [*names, (ONE, ONE), (UNNAMED, UNNAMED)]),
            ("values", names),
            ("counts", names),
            ("cluster", [("", "-"), *names]),
            ("attributes", names),
            ("rater_attributes", names),
        ):
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        self.initial = {**self.initial, **guesses(header)}
        if not kind.external:
            for name in ("level", "labels", "listed", "aside", "counts", "gold", "cluster", "attributes"):
                del self.fields[name]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("rater") == ONE and not cleaned.get("rater_name"):
            self.add_error("rater_name", "Enter the rater's name.")
        if cleaned.get("rater") != ONE and cleaned.get("rater_name"):
            self.add_error("rater_name", f"Leave this empty, or choose “{ONE}” above.")
        aside = cleaned.get("aside") or ""
        if aside and not all(aside.partition("=")[::2]):
            self.add_error("aside", "Expected VALUE=NAME, such as -9=needs_more_info.")
        if not all(all(part.partition("=")[::2]) for part in words(cleaned.get("recode"))):
            self.add_error("recode", "Expected OLD=NEW, such as true=yes.")
        self._check_values(cleaned)
        return cleaned

    def _check_values(self, cleaned: dict[str, Any]) -> None:
        """Values or label counts; correct labels of the chosen values."""
        values, counts = cleaned.get("values") or [], cleaned.get("counts") or []
        if not values and not counts:
            self.add_error("values", "Choose the columns that hold labels.")
        if values and counts:
            self.add_error("counts", "Choose values or label counts, not both.")
        if counts and cleaned.get("rater") != UNNAMED:
            self.add_error("rater", f"A table of label counts names no raters: choose “{UNNAMED}”.")
        gold = gold_columns(cleaned.get("gold"), values)
        for name in ("recode", "missing", "fold_case", "decimal_comma", "rater_attributes"):
            if counts and cleaned.get(name):
                self.add_error(name, "A table of label counts doesn't take this.")
        if counts and set(gold) - {""}:
            self.add_error("gold", "Expected one column: a table of label counts has one variable.")
        known = dict(self.fields["values"].choices)  # type: ignore[attr-defined]
        for value, column in gold.items() if not counts else ():
            if value not in values:
                self.add_error(
                    "gold",
                    f"“{value or column}”: expected VALUE=COLUMN, with VALUE one of: {', '.join(values)}.",
                )
            elif column not in known:
                self.add_error("gold", f"“{column}” is not a column of the file.")

    def columns(self) -> JudgmentColumns:
        data: Mapping[str, Any] = self.cleaned_data
        facts: dict[str, Any] = {
            "cluster": data.get("cluster") or "",
            "attributes": tuple(data.get("attributes") or ()),
            "rater_attributes": tuple(data["rater_attributes"]),
        }
        if data.get("counts"):
            return count_columns(
                item=data["item"],
                counts=data["counts"],
                level=data.get("level") or "nominal",
                gold=gold_columns(data.get("gold"), []).get("", ""),
                **facts,
            )
        gold = gold_columns(data.get("gold"), data["values"])
        value, _, name = (data.get("aside") or "").partition("=")
        unnamed, one = data["rater"] == UNNAMED, data["rater"] == ONE
        return JudgmentColumns(
            item=data["item"][0] if len(data["item"]) == 1 else tuple(data["item"]),
            rater="" if unnamed or one else data["rater"],
            rater_name=data["rater_name"] if one else "",
            unnamed=unnamed,
            values=tuple(
                ValueColumn(
                    column,
                    level=data.get("level") or "nominal",
                    labels=words(data.get("labels")),
                    listed=words(data.get("listed")),
                    gold=gold.get(column, ""),
                )
                for column in data["values"]
            ),
            aside={value: name} if name else {},
            simulators=frozenset(words(data["simulators"])),
            skip_blank=data["skip_blank"],
            missing=words(data["missing"]),
            recode={
                old.strip(): new.strip() for old, _, new in (p.partition("=") for p in words(data["recode"]))
            },
            fold_case=data["fold_case"],
            decimal_comma=data["decimal_comma"],
            **facts,
        )


def gold_columns(text: str | None, values: Sequence[str]) -> dict[str, str]:
    """``COLUMN``, or ``VALUE=COLUMN`` for each of several values, as the correct label's column of each value.

    >>> gold_columns("score=right, tone=real", ["score", "tone"])
    {'score': 'right', 'tone': 'real'}
    """
    found = {}
    for part in words(text):
        value, equals, column = part.partition("=")
        if equals and value.strip():
            found[value.strip()] = column.strip()
        else:
            found[values[0] if len(values) == 1 else ""] = part
    return found


def guesses(header: tuple[str, ...]) -> dict[str, Any]:
    """What the columns probably are, judging by their names."""
    answers = [name for name in header if name.startswith(MTURK_ANSWER)]
    raters = [n for n in header if n == MTURK_WORKER or n.lower() in ("rater", "worker", "annotator")]
    items = [n for n in header if n in ("Input.id", "Input.key") or n.lower() in ("item", "key", "unit")]
    return {
        "item": items[:1],
        "rater": raters[0] if raters else UNNAMED,
        "values": answers or [n for n in header if n.lower() in ("value", "label", "response")],
    }


def words(text: str | None) -> tuple[str, ...]:
    """The parts of a text separated by commas."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
