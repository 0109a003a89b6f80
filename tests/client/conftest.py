"""A running installation for tests of the client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.client.lab import Lab


@pytest.fixture
def lab(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Lab]:
    redis.Redis.from_url(settings.CELERY_BROKER_URL).flushdb()
    found = Lab(tmp_path)
    settings.LLM_ALLOWED_HOSTS = [found.provider.host]
    try:
        found.start()
        yield found
    finally:
        found.stop()
