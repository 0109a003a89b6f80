from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _toy_type() -> None:
    """The unmodified registry, because these tests are about it."""
