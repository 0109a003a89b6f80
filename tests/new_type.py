"""The type of docs/add-a-hit-type.md, added from a folder outside the product."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import annotator.hit_types
import foretell.urls  # noqa: F401  views bind the registry when they are imported: before a test changes it
from annotator.hit_types import registry
from annotator.hit_types.base import HitType

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "add-a-hit-type.md"
FILES = re.compile(r"^File `([^`]+)`:\n\n(`{3,})\w+\n(.*?)^\2$", re.MULTILINE | re.DOTALL)
MATERIAL = "\n".join(
    json.dumps({"sentence": f"Sentence {n} is short.", "gold": {"clear": "yes"}}) for n in range(3)
)


@pytest.fixture
def clarity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HitType]:
    """The guide's files, written as it says, and found by the registry."""
    for name, _, content in FILES.findall(GUIDE.read_text(encoding="utf-8")):
        path = tmp_path / "clarity" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.setattr(annotator.hit_types, "__path__", [*annotator.hit_types.__path__, str(tmp_path)])
    registry.HIT_TYPES.forget()
    yield registry.hit_type_get("clarity")
    registry.HIT_TYPES.forget()
    for name in [n for n in sys.modules if n.startswith("annotator.hit_types.clarity")]:
        del sys.modules[name]
    delattr(annotator.hit_types, "clarity")
