"""``/healthz``: whether this process lives and reaches its servers."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponseBase, JsonResponse

PATH = "/healthz"


class HealthMiddleware:
    """Answers before anything else, so that a probe needs no host name, HTTPS, session or log-in.

    200 ``{"database": "ok", "redis": "ok" | "down"}``: judgments are taken without Redis. 503 without Postgres.
    It tells no more than that to anyone who asks.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info != PATH:
            return self.get_response(request)
        database, redis = database_answers(), redis_answers()
        word = {True: "ok", False: "down"}
        response = JsonResponse(
            {"database": word[database], "redis": word[redis]}, status=200 if database else 503
        )
        response["Cache-Control"] = "no-store"
        return response


def database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return True
    except DatabaseError:
        connection.close()
        return False


def redis_answers() -> bool:
    import redis

    try:
        client = redis.Redis.from_url(
            settings.CELERY_BROKER_URL, socket_connect_timeout=1, socket_timeout=1, retry=None
        )
        with client:
            return bool(client.ping())
    except redis.RedisError:
        return False
