from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _toy_type() -> None:
    """The registry as it is: here it is itself what is tested."""
