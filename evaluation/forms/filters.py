"""The fields that limit a report to some items or raters: a menu of columns, and check boxes for the values of each column."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from annotator.core.words import plural
from evaluation.core.filter_text import filter_text, parse_filter
from evaluation.selectors.attributes import StudyAttribute

ABOUT = {"items": "Items", "raters": "Raters"}


class ColumnMenu(forms.Select):
    """The columns of a study to group by. A column that was chosen before stays in the menu."""

    def __init__(self, attributes: Collection[StudyAttribute], given: str = "") -> None:
        groups: list[tuple[str, Any]] = [("", "No groups")]
        for of, title in ABOUT.items():
            names = [
                (attribute.name, _with_size(attribute)) for attribute in attributes if attribute.of == of
            ]
            if names:
                groups.append((title, names))
        if given and given not in {attribute.name for attribute in attributes}:
            groups.append((given, given))
        super().__init__(choices=groups)


def _with_size(column: StudyAttribute) -> str:
    return f"{column.title} ({plural(column.distinct, 'value')})"


class FilterWidget(forms.Widget):
    """A check box for each value of each column, with its count, and a text field for everything else.

    Its value is the text of the filter (see ``evaluation.core.filter_text``).
    """

    def __init__(self, attributes: Sequence[StudyAttribute]) -> None:
        super().__init__()
        self.attributes = attributes

    class Media:
        css = {"all": ["css/filters.css"]}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        """The check boxes and the text field as one filter. Text that can't be read is returned unchanged, for the error message."""
        line = str(data.get(name) or "").strip()
        ticked = data.getlist(f"{name}-value") if hasattr(data, "getlist") else []
        pairs = []
        for text in ticked:
            try:
                pairs += [
                    (column, value) for column, values in parse_filter(text).items() for value in values
                ]
            except ValueError:
                continue
        try:
            written = [(column, value) for column, values in parse_filter(line).items() for value in values]
        except ValueError:
            return line
        return filter_text(dict.fromkeys([*pairs, *written]))

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data and f"{name}-value" not in data

    def render(
        self, name: str, value: Any, attrs: Mapping[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        try:
            chosen = parse_filter(str(value or ""))
            line = ""
        except ValueError:
            chosen, line = {}, str(value)
        groups = []
        for column in self.attributes:
            wanted = set(chosen.get(column.name, ()))
            values = [
                {
                    "text": one.text,
                    "count": one.count,
                    "pair": filter_text([(column.name, one.text)]),
                    "ticked": one.text in wanted,
                }
                for one in column.values
            ]
            listed = {one.text for one in column.values}
            if column.name in chosen:
                chosen[column.name] = [text for text in chosen[column.name] if text not in listed]
            groups.append({"column": column, "values": values, "open": bool(wanted & listed)})
        unlisted = [(column, text) for column, texts in chosen.items() for text in texts]
        context = {
            "name": name,
            "id": (attrs or {}).get("id", f"id_{name}"),
            "describedby": (attrs or {}).get("aria-describedby", ""),
            "groups": groups,
            "line": line or filter_text(unlisted),
        }
        return render_to_string("evaluation/_filter_values.html", context)
