"""Template tags of study pages: the head and tabs for pages of other applications, and settings to read."""

from __future__ import annotations

import re
from typing import Any

from django import forms, template
from django.utils.safestring import mark_safe

from annotator.admin.study_pages.frame import role_of, tabs_of
from annotator.models import Study
from annotator.selectors.study import known_hit_type

register = template.Library()


@register.inclusion_tag("admin/annotator/study_pages/_outside.html", takes_context=True)
def study_tabs(context: dict[str, Any], study: Study, tab: str) -> dict[str, Any]:
    """The head and tabs of a study; ``tab`` is the current one. Empty for anyone who isn't a researcher of the study."""
    request = context.get("request")
    role = role_of(request, study) if request is not None else None
    match = getattr(request, "resolver_match", None)
    page = match.view_name if match else ""
    tabs, pages = tabs_of(study, tab=tab, page=page, role=role) if role else ([], [])
    kind = known_hit_type(study)
    return {"tabs": tabs, "pages": pages, "study": study, "kind": kind, "role": role}


#: The beginning of an icon that isn't hidden yet.
_ICON = re.compile(r'<span(?=[^>]*\bclass="[^"]*\bmaterial-symbols-outlined\b)(?![^>]*\baria-hidden=)')


@register.filter
def icons_hidden(html: str) -> str:
    """Rendered HTML whose icons are hidden from screen readers: an icon is its name in letters, such as "list_alt"."""
    return mark_safe(_ICON.sub('<span aria-hidden="true"', html))  # noqa: S308 - was safe before


@register.filter
def value_words(field: forms.BoundField) -> str:
    """``{{ field|value_words }}``: a field's value for people who can't change it, with the words of its menu."""
    value = field.value()
    if isinstance(field.field, forms.BooleanField):
        return "yes" if value else "no"
    choices = dict(getattr(field.field, "choices", ()))
    values = value if isinstance(value, list | tuple) else [value]
    return ", ".join(str(choices.get(one, one)) for one in values if one not in (None, "")) or "none"
