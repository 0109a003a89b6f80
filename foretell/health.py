"""Health and metrics, answered before anything else: no host name, HTTPS, session or login is needed.

- ``/livez``: 200 while this process handles requests. Restart it if it doesn't.
- ``/readyz`` (and ``/healthz``): 200 with Postgres, 503 without. Send no requests while it's 503; a restart doesn't help.
- ``/metrics``: Prometheus metrics, for requests with ``Authorization: Bearer METRICS_TOKEN``; 404 without that setting.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

READY = ("/readyz", "/healthz")


class HealthMiddleware:
    """Reveals only ``{"database": "ok" | "down", "redis": "ok" | "down"}`` without the token.

    Redis doesn't decide: answers are accepted without it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info == "/livez":
            response: HttpResponse = JsonResponse({"process": "ok"})
        elif request.path_info in READY:
            response = ready()
        elif request.path_info == "/metrics":
            response = metrics(request)
        else:
            return self.get_response(request)
        response["Cache-Control"] = "no-store"
        return response


def ready() -> HttpResponse:
    database, redis = database_answers(), redis_answers()
    word = {True: "ok", False: "down"}
    return JsonResponse({"database": word[database], "redis": word[redis]}, status=200 if database else 503)


def metrics(request: HttpRequest) -> HttpResponse:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
    if not settings.METRICS_TOKEN:
        return HttpResponse("Set METRICS_TOKEN to serve metrics.\n", status=404, content_type="text/plain")
    if not hmac.compare_digest(given, settings.METRICS_TOKEN.encode()):
        return HttpResponse(
            "Expected Authorization: Bearer METRICS_TOKEN.\n", status=401, content_type="text/plain"
        )
    from foretell.metrics import CONTENT_TYPE, metrics_text

    return HttpResponse(metrics_text(), content_type=CONTENT_TYPE)


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
