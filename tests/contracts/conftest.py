"""The scripted provider, for the contracts that need replies."""

from __future__ import annotations

from tests.evaluation.conftest import scripted, scripted_process  # noqa: F401
