"""A cache on Redis that behaves as an empty cache while Redis is unavailable."""

from __future__ import annotations

import dataclasses
import json
import logging
import time
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


def as_dict(value: Any) -> dict[str, Any]:
    """What JSON has for a dataclass. Templates read a dictionary's values as they read attributes."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(
        f"{type(value).__name__} can't be cached: use text, numbers, lists, dictionaries or dataclasses"
    )


class JSONSerializer:
    """Store values as JSON, which runs no code when it is read, unlike pickle. Integers stay plain for ``incr``.

    A dataclass is read again as a dictionary: Unfold's search caches its results.
    """

    def dumps(self, value: Any) -> int | bytes:
        return value if type(value) is int else json.dumps(value, default=as_dict).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


class OneClient(RedisCacheClient):
    """Django's client of the cache, which makes its object for a server once instead of for each call.

    The connections are kept in any case; making the object took longer than asking Redis. Several servers, among which
    Django spreads what it reads, are used as Django does.
    """

    def __init__(self, servers: Any, *args: Any, **options: Any) -> None:
        super().__init__(servers, *args, **options)
        self._one_server = len(servers) == 1
        self._made: Any = None

    def get_client(self, key: Any = None, *, write: bool = False) -> Any:
        if not self._one_server:
            return super().get_client(key, write=write)
        if self._made is None:
            self._made = super().get_client(key, write=write)
        return self._made


class ForgivingRedisCache(RedisCache):
    """Django's Redis cache, except that an unavailable Redis is a cache miss instead of an error page.

    After a failure Redis isn't asked for a few seconds, so that not every request waits for a timeout.
    """

    PAUSE_SECONDS = 5.0
    #: On the clock of ``time.monotonic``.
    paused_until = 0.0

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        params = dict(params)
        params["OPTIONS"] = {
            "serializer": JSONSerializer,
            "socket_connect_timeout": 0.5,
            "socket_timeout": 0.5,
            **params.get("OPTIONS", {}),
        }
        super().__init__(server, params)
        self._class = OneClient

    def _try(self, call: Callable[[], Any], fallback: Any) -> Any:
        if time.monotonic() < self.paused_until:
            return fallback
        try:
            return call()
        except RedisError as error:
            type(self).paused_until = time.monotonic() + self.PAUSE_SECONDS
            log.warning("the cache is unavailable (%s); continuing without it", type(error).__name__)
            return fallback

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        return self._try(lambda: super(ForgivingRedisCache, self).get(key, default, version), default)

    def set(self, key: Any, value: Any, timeout: Any = 300, version: int | None = None) -> None:
        self._try(lambda: super(ForgivingRedisCache, self).set(key, value, timeout, version), None)

    def add(self, key: Any, value: Any, timeout: Any = 300, version: int | None = None) -> bool:
        """Also True while Redis is unavailable: nothing shows that another process holds the key."""
        return self._try(lambda: super(ForgivingRedisCache, self).add(key, value, timeout, version), True)

    def touch(self, key: Any, timeout: Any = 300, version: int | None = None) -> bool:
        return self._try(lambda: super(ForgivingRedisCache, self).touch(key, timeout, version), False)

    def delete(self, key: Any, version: int | None = None) -> bool:
        return self._try(lambda: super(ForgivingRedisCache, self).delete(key, version), False)

    def get_many(self, keys: Any, version: int | None = None) -> dict[Any, Any]:
        return self._try(lambda: super(ForgivingRedisCache, self).get_many(keys, version), {})

    def set_many(self, data: dict[Any, Any], timeout: Any = 300, version: int | None = None) -> list[Any]:
        return self._try(
            lambda: super(ForgivingRedisCache, self).set_many(data, timeout, version), list(data)
        )

    def delete_many(self, keys: Any, version: int | None = None) -> None:
        self._try(lambda: super(ForgivingRedisCache, self).delete_many(keys, version), None)

    def has_key(self, key: Any, version: int | None = None) -> bool:
        return self._try(lambda: super(ForgivingRedisCache, self).has_key(key, version), False)

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        return self._try(lambda: super(ForgivingRedisCache, self).incr(key, delta, version), delta)

    def clear(self) -> None:
        self._try(lambda: super(ForgivingRedisCache, self).clear(), None)
