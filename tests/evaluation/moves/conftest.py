"""The lab of the tests about workspaces."""

from __future__ import annotations

import pytest

from annotator.models import Workspace
from tests.evaluation.moves.labs import lab


@pytest.fixture
def made(db: None) -> Workspace:
    """A lab's workspace."""
    return lab()
