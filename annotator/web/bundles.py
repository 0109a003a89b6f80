"""One style sheet and one script from many small files, without a build step.

Each component has a style sheet and each behaviour a script, but an annotator's first page may take at most eight
responses and 60 kB. So a staticfiles finder provides ``css/app.css`` and ``js/app.js``, which concatenate the files below
without their comments, a tenth of that page.
``runserver`` joins them again when one has changed, ``collectstatic`` once. The first page then takes five responses:
the page, ``app.css``, ``htmx.min.js``, ``app.js`` and the serif (and the icon, if the browser requests it).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

#: The parts of each joined file, in order. Paths are below ``static/``.
BUNDLES: dict[str, tuple[str, ...]] = {
    "css/app.css": (
        "css/tokens.css",
        "css/fonts.css",
        "css/base.css",
        "css/block.css",
        "css/picture.css",
        "css/option.css",
        "css/passages.css",
        "css/keycap.css",
        "css/button.css",
        "css/task.css",
        "css/paired.css",
        "css/context.css",
        "css/find.css",
        "css/drawer.css",
        "css/menu.css",
        "css/form.css",
        "css/notice.css",
        "css/changed.css",
        "css/preview_steps.css",
        "css/adjudicate.css",
        "css/questionnaire.css",
        "css/example.css",
        "css/print.css",
    ),
    # In the researchers' frame: what pages are made of, for the page alone and not for the sidebar around it.
    "css/researcher_page.css": (
        "css/base.css",
        "css/block.css",
        "css/button.css",
        "css/form.css",
        "css/notice.css",
    ),
    "css/researcher.css": (
        "css/report.css",
        "css/report_blocks.css",
        "css/strip.css",
        "css/interval.css",
        "css/tabs.css",
    ),
    "js/app.js": (
        "js/core.js",
        "js/steps.js",
        "js/view.js",
        "js/submit.js",
        "js/keys.js",
        "js/zoom.js",
        "js/behaviour.js",
        "js/find_open.js",
        "js/drawer.js",
        "js/menu.js",
        "js/focus.js",
        "js/autosave.js",
        "js/offline.js",
        "js/forms.js",
        "js/copy.js",
        "js/lease.js",
        "js/timing.js",
        "js/undo.js",
        "js/theme.js",
        "js/worker.js",
    ),
}


#: Joined style sheets whose rules hold within an element only.
SCOPED = {"css/researcher_page.css": "(div:has(> #content.page)) to (.fk)"}
#: A comment with lines of its own. One beside code stays, so nothing that a string may contain is taken for a comment.
_COMMENT = re.compile(r"^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\n", re.DOTALL | re.MULTILINE)


def without_comments(source: str) -> str:
    """A style sheet or script without the comments that have lines of their own.

    >>> without_comments("/* Why. */\\na { color: red }  /* this stays */\\n")
    'a { color: red }  /* this stays */\\n'
    """
    return _COMMENT.sub("", source)


class BundleFinder(BaseFinder):
    """Finds the joined files; the other finders find everything else."""

    def __init__(self, app_names: Iterable[str] | None = None, *args: Any, **kwargs: Any):
        self.source = Path(settings.STATICFILES_DIRS[0])
        self.target = settings.BUNDLES_DIR
        self.storage = FileSystemStorage(location=str(self.target))
        super().__init__(*args, **kwargs)

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path not in BUNDLES:
            return []
        made = str(self.make(path))
        return [made] if find_all else made

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        for path in BUNDLES:
            self.make(path)
            yield path, self.storage

    def make(self, path: str) -> Path:
        """Join the parts unless the joined file is newer than all of them and than this list."""
        parts = [self.source / part for part in BUNDLES[path]]
        made = self.target / path
        newest = max(part.stat().st_mtime for part in [*parts, Path(__file__)])
        if made.is_file() and made.stat().st_mtime >= newest:
            return made
        made.parent.mkdir(parents=True, exist_ok=True)
        # Write to a temporary file and rename it, so that no other process reads half a file.
        with tempfile.NamedTemporaryFile("w", dir=made.parent, delete=False, encoding="utf-8") as aside:
            joined = "\n".join(without_comments(part.read_text(encoding="utf-8")) for part in parts)
            aside.write(f"@scope {SCOPED[path]} {{\n{joined}\n}}\n" if path in SCOPED else joined)
        Path(aside.name).chmod(0o644)
        os.replace(aside.name, made)
        return made
