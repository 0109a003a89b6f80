"""The baseline: the smallest Django application that gives out items and stores judgments, for comparison.

Two requests per judgment: ``GET /next`` reserves an item for the person who is logged in (a cursor per annotator, SKIP
LOCKED), ``POST /submit`` stores the answer. It has sessions in the database, login and CSRF like a real application, but no
validation, leases, stages, exams or pages. Served by ``granian --interface wsgi benchmarks.core_loop.floor:application``.
"""

from __future__ import annotations

import os

import environ
from django.conf import settings

if not settings.configured:
    settings.configure(
        SECRET_KEY="floor",
        ALLOWED_HOSTS=["127.0.0.1"],
        DATABASES={
            "default": {
                **environ.Env.db_url_config(os.environ["DATABASE_URL"]),
                "CONN_MAX_AGE": 600,
                "CONN_HEALTH_CHECKS": True,
            }
        },
        INSTALLED_APPS=[
            "django.contrib.contenttypes",
            "django.contrib.auth",
            "django.contrib.sessions",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        ROOT_URLCONF=__name__,
        USE_TZ=True,
    )

import django

django.setup()

from django.contrib.auth import login  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.http import HttpRequest, HttpResponse, JsonResponse  # noqa: E402
from django.middleware.csrf import get_token  # noqa: E402
from django.urls import path  # noqa: E402

TABLES = """
CREATE TABLE floor_item (id serial PRIMARY KEY, payload jsonb NOT NULL, taken int NOT NULL DEFAULT 0);
CREATE TABLE floor_cursor (user_id int PRIMARY KEY, item_id int NOT NULL);
CREATE TABLE floor_judgment (item_id int NOT NULL, user_id int NOT NULL, response jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (item_id, user_id));
"""
NEXT = """
WITH place AS (SELECT coalesce((SELECT item_id FROM floor_cursor WHERE user_id = %(user)s), 0) AS after),
chosen AS (SELECT id, payload FROM floor_item, place WHERE id > place.after AND taken < %(k)s
           ORDER BY id LIMIT 1 FOR UPDATE OF floor_item SKIP LOCKED),
taken AS (UPDATE floor_item SET taken = taken + 1 FROM chosen WHERE floor_item.id = chosen.id),
moved AS (INSERT INTO floor_cursor SELECT %(user)s, id FROM chosen
          ON CONFLICT (user_id) DO UPDATE SET item_id = EXCLUDED.item_id)
SELECT id, payload FROM chosen
"""
K = int(os.environ.get("FLOOR_K", "3"))


def make(items: int, people: int) -> None:
    """Tables, items and accounts."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        cursor.execute(
            """INSERT INTO floor_item (payload) SELECT jsonb_build_object('question', 'Can bird ' || n || ' fly?',
               'explanation', repeat('All birds can fly. ', 12)) FROM generate_series(1, %s) n""",
            [items],
        )
    User.objects.bulk_create([User(username=f"floor-{n}", password="!") for n in range(people)])


def enter(request: HttpRequest, number: int) -> HttpResponse:
    login(request, User.objects.get(username=f"floor-{number}"))
    get_token(request)
    return HttpResponse(status=204)


def following(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return HttpResponse(status=403)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(NEXT, {"user": request.user.pk, "k": K})
        row = cursor.fetchone()
    return JsonResponse({"item": row[0], "payload": row[1]}) if row else HttpResponse(status=204)


def submit(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return HttpResponse(status=403)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO floor_judgment (item_id, user_id, response) VALUES (%s, %s, %s)",
            [request.POST["item"], request.user.pk, f'{{"answer": "{request.POST["answer"]}"}}'],
        )
    return HttpResponse(status=204)


urlpatterns = [path("enter/<int:number>", enter), path("next", following), path("submit", submit)]
application = get_wsgi_application()

if __name__ == "__main__":
    import sys

    make(int(sys.argv[1]), int(sys.argv[2]))
