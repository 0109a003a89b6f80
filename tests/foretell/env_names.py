"""The names of environment variables that the code reads and the documentation explains."""

from __future__ import annotations

import re

from foretell import env

NAMES = re.compile(r"\b(?:text|number|flag|words)\(\s*\"([A-Z_]+)\"")


def names_read() -> set[str]:
    panels = (env.ROOT / "annotator" / "recruitment" / "panels").glob("*.py")
    files = (env.ROOT / "foretell" / "env.py", *panels)
    return {name for path in files for name in NAMES.findall(path.read_text())}


def names_explained() -> set[str]:
    return set(re.findall(r"^#? ?([A-Z_]+)=", (env.ROOT / ".env.example").read_text(), re.MULTILINE))
