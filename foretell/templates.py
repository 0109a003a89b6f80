"""Compile every template of this project, so that a broken tag is found before somebody opens the page."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from foretell import env

FOLDERS = (env.ASSETS / "templates", env.ROOT / "annotator", env.ROOT / "evaluation")


def template_files() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted(folder.rglob("*.html"))]


def faults() -> list[str]:
    """One line for each template that doesn't compile."""
    from django.template import TemplateSyntaxError, engines

    engine = engines["django"]
    problems = []
    for path in template_files():
        try:
            engine.from_string(path.read_text())
        except TemplateSyntaxError as error:
            problems.append(f"{path.relative_to(env.ROOT)}: {error}")
    return problems


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django

    django.setup()
    problems = faults()
    print("\n".join(problems) or f"{len(template_files())} templates compile")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
