"""Prepare an installation in one Django process: migrations, static files, demo studies.

``needed`` finds out in a few milliseconds, without Django, whether there's anything to do.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from foretell import env

APPS = ("annotator", "evaluation")
STATE = env.DATA_DIR / "prepared.json"
#: Exists while the demo is being loaded, and holds the number of steps that are done.
PROGRESS = env.DATA_DIR / "demo-progress"


class DemoProgress(io.TextIOBase):
    """The output of the commands that load the demo: each line is a step, which the first page counts."""

    def __init__(self) -> None:
        self.steps = 0
        PROGRESS.write_text("0")

    def write(self, text: str) -> int:
        if text.strip() and not text.startswith("login:"):  # only `make run` prints passwords
            self.steps += 1
            PROGRESS.write_text(str(self.steps))
            print(f"  {text.strip()}", flush=True)
        return len(text)


def demo_steps() -> int | None:
    """How many steps of loading the demo are done; None if it isn't being loaded."""
    try:
        return int(PROGRESS.read_text() or 0)
    except (OSError, ValueError):
        return None


def demo_context(request: Any) -> dict[str, int | None]:
    """A context processor: ``demo_steps`` for the first page."""
    return {"demo_steps": demo_steps() if env.DEMO else None}


def fingerprint(provider_url: str) -> dict[str, str]:
    """Digests of the sources of the tables, the static files and the demo."""
    lock = _digest([env.ROOT / "requirements.lock"], content=True) if env.CHECKOUT else version("foretell")
    migrations = [path for app in APPS for path in sorted((env.ROOT / app / "migrations").glob("*.py"))]
    folders = [env.ASSETS / "static", *(env.ROOT / app / "static" for app in APPS)]
    static = [env.ROOT / "annotator/web/bundles.py"]
    static += [path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*"))]
    return {
        "tables": lock + _digest(migrations, content=True),
        "static": lock + _digest(static, content=False) + str(env.STATIC_ROOT),
        "demo": f"2 {env.DEMO and _has_demo()} {provider_url}",
    }


def needed(*, database_url: str, provider_url: str) -> list[str]:
    """Which of ``tables``, ``static``, ``demo`` are out of date, by the state file and the database itself."""
    import psycopg

    done = state()
    todo = [part for part, value in fingerprint(provider_url).items() if done.get(part) != value]
    if "static" not in todo and not (env.STATIC_ROOT / "staticfiles.json").exists():
        todo.append("static")
    try:
        with psycopg.connect(database_url, connect_timeout=10) as connection:
            rows = connection.execute("SELECT app, name FROM django_migrations").fetchall()
        if not {tuple(row) for row in done.get("migrations", [])} <= {tuple(row) for row in rows}:
            todo.append("tables")
    except psycopg.errors.UndefinedTable:  # a new, empty database
        todo += ["tables", "demo"]
    return [part for part in ("tables", "static", "demo") if part in todo]


def state() -> dict[str, Any]:
    """The state file: what was prepared last time."""
    try:
        return dict(json.loads(STATE.read_text()))
    except (OSError, ValueError):
        return {}


def _has_demo() -> bool:
    return any((env.ROOT / app / "management/commands/load_demo.py").is_file() for app in APPS)


def _digest(paths: list[Path], *, content: bool) -> str:
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file():
            info = path.stat()
            seen = path.read_bytes() if content else f"{info.st_size} {info.st_mtime_ns}".encode()
            digest.update(f"{path} ".encode() + seen + b"\n")
    return digest.hexdigest()[:16]


def main(parts: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.loader import MigrationLoader

    django.setup()
    made = fingerprint(env.SCRIPTED_PROVIDER_URL)
    if "tables" in parts:
        print("preparing the database", flush=True)
        call_command("migrate", verbosity=0, interactive=False)
        remember(tables=made["tables"], migrations=sorted(MigrationLoader(connection).disk_migrations or []))
    if "static" in parts:
        print("preparing static files", flush=True)
        call_command("collectstatic", verbosity=0, interactive=False, clear=True)
        remember(static=made["static"])
    if "demo" in parts and env.DEMO and _has_demo():
        progress = DemoProgress()
        try:
            # Thousands of short transactions: after a power cut, the next start makes the last ones again.
            with connection.cursor() as cursor:
                cursor.execute("SET synchronous_commit = off")
            call_command("load_demo", stdout=progress)
            call_command("load_demo_results", stdout=progress)
        except Exception as error:  # the rest of Foretell works without the demo; the next start tries again
            sys.exit(f"the demo studies couldn't be loaded: {type(error).__name__}: {str(error)[:1000]}")
        finally:
            PROGRESS.unlink(missing_ok=True)
    if "demo" in parts:
        remember(demo=made["demo"])


def remember(**values: Any) -> None:
    new = STATE.with_suffix(".new")
    new.write_text(json.dumps({**state(), **values}, indent=1))
    new.replace(STATE)


if __name__ == "__main__":
    main(sys.argv[1:])
