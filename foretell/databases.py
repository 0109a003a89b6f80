"""The databases of the settings: Postgres itself, or a pooler before it, and a replica."""

from __future__ import annotations

from typing import Any

import environ

from foretell import env


def databases() -> dict[str, dict[str, Any]]:
    """``default``; ``session`` if the default is a pooler; ``replica`` if there is one."""
    found = {"default": _server()}
    if env.DATABASE_POOLER_URL:
        found["session"], found["default"] = found["default"], _pooler()
    if (
        env.DATABASE_REPLICA_URL
    ):  # what reads a lot and writes nothing may read from it: annotator/core/replica.py
        found["replica"] = _connected(env.DATABASE_REPLICA_URL, seconds=2)
    return found


def _connected(url: str, *, seconds: int) -> dict[str, Any]:
    """Each web thread keeps its connection and checks it once per request, so that a restart of Postgres doesn't cause error pages
    afterwards."""
    found = {**environ.Env.db_url_config(url), "CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}
    found.setdefault("OPTIONS", {}).setdefault("connect_timeout", seconds)
    return found


def _server() -> dict[str, Any]:
    found = _connected(env.DATABASE_URL or "postgres://foretell@127.0.0.1:5432/foretell", seconds=5)
    options = found["OPTIONS"]
    # For the statements of annotator/core/prepared.py.
    options.setdefault("prepare_threshold", 1)
    # Left to choose, Postgres plans the claim of a place anew each time, which takes four times as long as to execute it.
    # Only prepared statements are affected; Django's own aren't prepared.
    options["options"] = f"{options.get('options', '')} -c plan_cache_mode=force_generic_plan".strip()
    return found


def _pooler() -> dict[str, Any]:
    """Behind a pooler in transaction mode each transaction may have another connection of the server: nothing is prepared, no cursor
    stays open between statements, and locks that last longer are taken on a connection of their own (annotator/core/jobs.py)."""
    found = _connected(env.DATABASE_POOLER_URL, seconds=5) | {"DISABLE_SERVER_SIDE_CURSORS": True}
    found["OPTIONS"]["prepare_threshold"] = None
    return found
