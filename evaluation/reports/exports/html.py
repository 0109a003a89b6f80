"""A report as one self-contained HTML file, with style sheet, fonts and figures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from evaluation.reports.pages import page_of

#: (file, declarations) of the fonts in the page.
FONTS = (
    ("foretell-serif.woff2", ""),
    ("foretell-serif-bold.woff2", "font-weight: 600 800;"),
    ("foretell-serif-italic.woff2", "font-style: italic;"),
)
#: The style sheets in the page: the report's components, and what a page needs outside the product.
STYLES = (
    "css/tokens.css",
    "css/notice.css",
    "css/report.css",
    "css/report_blocks.css",
    "css/print.css",
    "css/report_file.css",
)


def render(content: Mapping[str, Any], files: Mapping[str, tuple[str, bytes]]) -> str:
    """The report as a page; ``files`` are its drawn figures (name -> media type and bytes).

    All texts go through the template engine, which escapes them; figures are images, which can't run anything.
    """

    def source(name: str) -> str:
        if name not in files:
            return ""
        media_type, body = files[name]
        return f"data:{media_type};base64,{b64encode(body).decode()}"

    page = page_of(content, source)
    folder = Path(settings.STATICFILES_DIRS[0])
    parts = [(folder / name).read_text(encoding="utf-8") for name in STYLES]
    style = mark_safe("\n".join([*_fonts(folder / "vendor" / "foretell-serif"), *parts]))  # noqa: S308 - our own files
    return render_to_string("evaluation/report_file.html", {"page": page, "style": style})


def _fonts(folder: Path) -> list[str]:
    """The fonts as rules of a style sheet with the files inside."""
    return [
        f'@font-face {{ font-family: "Foretell Serif"; {declared} '
        f"src: url(data:font/woff2;base64,{b64encode((folder / name).read_bytes()).decode()}) "
        'format("woff2"); }'
        for name, declared in FONTS
    ]
