"""The folder of public data beside the project; tests of it are skipped only where the folder is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = next(
    (p / "shared" / "data" for p in Path(__file__).resolve().parents if (p / "shared" / "data").is_dir()),
    Path("shared/data"),
)
with_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the folder of public data is not beside the project"
)
