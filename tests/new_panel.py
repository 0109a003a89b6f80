"""The panel of docs/add-a-panel.md, added from a folder outside the product."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import annotator.recruitment.panels
from annotator.recruitment.panel import Panel
from annotator.recruitment.registry import PANELS

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "add-a-panel.md"
FILE = re.compile(r"^File `([^`]+)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def campus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Panel]:
    """The guide's file, written as it says, and found by the registry."""
    [(name, content)] = FILE.findall(GUIDE.read_text(encoding="utf-8"))
    (tmp_path / name).write_text(content, encoding="utf-8")
    package = annotator.recruitment.panels
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    PANELS.forget()
    yield PANELS.get("campus")
    PANELS.forget()
    del sys.modules["annotator.recruitment.panels.campus"]
    delattr(package, "campus")
