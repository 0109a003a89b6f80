"""A Redis that is full and refuses writes, as it does in production at ``maxmemory``: nothing ends in an error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from foretell import doctor, env
from foretell.embedded import EmbeddedServers

PROCESS = """
import django; django.setup()
from django.core.cache import cache
from annotator.core.jobs import enqueue
cache.set("a", 1)
print(enqueue("annotator.leases_expire"), cache.get("a"), cache.add("a", 1), cache.incr("b"))
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own: other tests work with the session's at the same time."""
    servers = EmbeddedServers(Path(tmp_path_factory.mktemp("redis")))
    yield servers.start_redis()
    servers.stop()


@pytest.fixture
def server(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as client:
        yield client
        client.config_set("maxmemory", 0)


def test_messages_are_lost_and_the_cache_is_an_empty_one(server: redis.Redis, url: str) -> None:
    server.config_set("maxmemory", 1)
    values = os.environ | {"REDIS_URL": url, "DJANGO_SETTINGS_MODULE": "foretell.settings"}
    done = subprocess.run(
        [sys.executable, "-c", PROCESS], env=values, cwd=env.ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["False", "None", "True", "1"], done.stderr
    assert "a sweeper will queue it later" in done.stderr


@pytest.mark.django_db
def test_the_doctor_warns_before(server: redis.Redis, url: str, settings: Any) -> None:
    settings.CELERY_BROKER_URL = url
    assert [finding.level for finding in doctor.check_redis()] == ["ok"]
    server.config_set("maxmemory", int(server.info("memory")["used_memory"] * 1.1))
    assert next(f.about for f in doctor.check_redis() if f.level == "warning").endswith(
        "MB of memory are used."
    )
