"""The cache may be empty at any time and must never cause an error page."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import redis
from django.conf import settings

from foretell.cache import ForgivingRedisCache


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> ForgivingRedisCache:
    monkeypatch.setattr(ForgivingRedisCache, "paused_until", 0.0)
    return ForgivingRedisCache(settings.CACHES["default"]["LOCATION"], {"KEY_PREFIX": "test_cache"})


def test_stored_values_are_returned(cache: ForgivingRedisCache) -> None:
    cache.set("a", {"b": [1, 2.5, "c", None]})
    assert cache.get("a") == {"b": [1, 2.5, "c", None]}
    assert cache.get("absent", "default") == "default"
    cache.set("n", 1)
    assert (cache.incr("n"), cache.get("n")) == (2, 2)
    assert cache.add("a", 1) is False
    assert cache.delete("a") is True
    assert cache.get("a") is None


def test_calls_share_one_client(cache: ForgivingRedisCache, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[redis.Redis] = []
    whole = redis.Redis.__init__

    def counted(client: redis.Redis, *args: Any, **options: Any) -> None:
        made.append(client)
        whole(client, *args, **options)

    monkeypatch.setattr(redis.Redis, "__init__", counted)
    for number in range(3):
        cache.set("n", number)
        assert cache.get("n") == number
    assert len(made) == 1


def test_a_value_is_never_unpickled(cache: ForgivingRedisCache) -> None:
    raw = redis.Redis.from_url(settings.CACHES["default"]["LOCATION"])
    raw.set(cache.make_and_validate_key("planted"), b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(ValueError, match="Expecting value"):
        cache.get("planted")


def test_an_unavailable_redis_is_an_empty_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ForgivingRedisCache, "paused_until", 0.0)
    cache = ForgivingRedisCache("redis://127.0.0.1:1/0", {})
    cache.set("a", 1)
    assert cache.get("a", "default") == "default"
    assert cache.get_many(["a"]) == {}
    assert cache.has_key("a") is False
    assert cache.delete("a") is False


def test_a_redis_that_hangs_delays_only_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForgivingRedisCache, "paused_until", 0.0)
    monkeypatch.setattr(ForgivingRedisCache, "PAUSE_SECONDS", 3600.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        cache = ForgivingRedisCache(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", {})
        for _ in range(100):
            assert cache.get("a") is None
        silent.setblocking(False)
        with silent.accept()[0], pytest.raises(BlockingIOError):
            silent.accept()  # there was one connection; the other 99 requests didn't ask Redis
