"""JSON in read-only fields of the admin, coloured by classes: Unfold's own inline styles break the content policy."""

from __future__ import annotations

import json
from typing import Any

import unfold.fields
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.data import JsonLexer


def json_show(data: Any, encoder: type[json.JSONEncoder] | None = None) -> SafeString:
    """Indented JSON, escaped, with pygments' classes (``static/css/admin_frame.css`` has their colours)."""
    text = json.dumps(data, sort_keys=True, indent=4, cls=encoder, ensure_ascii=False)
    return mark_safe(highlight(text, JsonLexer(), HtmlFormatter(cssclass="json")))  # noqa: S308 (pygments escapes it)


def install_json_fields() -> None:
    """Have Unfold show JSON fields with ``json_show``."""
    unfold.fields.prettify_json = json_show
