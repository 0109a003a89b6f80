"""``foretell reproduce FILE``: check a release on a computer where nothing of Foretell is running.

The check computes the report in temporary tables of a Postgres. If none is at hand, an empty one is started for it in a folder that is
deleted afterwards.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foretell import env
from foretell.embedded import EmbeddedError
from foretell.embedded.postgres import Postgres
from foretell.embedded.process import free_port
from foretell.stopping import Stopping, stop_on_signals


def main(arguments: list[str]) -> int:
    """Run the Django command ``reproduce`` on the running installation, or on an empty database made for it."""
    if not arguments or {"--help", "-h"} & set(arguments) or database_responds():
        return _django("reproduce", *(arguments or ["--help"]))
    stop_on_signals()
    try:
        with empty_database() as url:
            print("preparing an empty database for the check", file=sys.stderr, flush=True)
            return _django("migrate", "--verbosity", "0", DATABASE_URL=url) or _django(
                "reproduce", *arguments, DATABASE_URL=url
            )
    except EmbeddedError as error:
        print(f"foretell: {error}", file=sys.stderr)
        return 1
    except Stopping:
        return 130


def database_responds() -> bool:
    """Whether the database of the environment or of `foretell run` takes connections."""
    import psycopg

    if not env.DATABASE_URL:
        return False
    try:
        psycopg.connect(env.DATABASE_URL, connect_timeout=5).close()
    except psycopg.OperationalError:
        return bool(env.GIVEN_DATABASE_URL)  # the user means that one, and is told why it doesn't respond
    return True


@contextmanager
def empty_database() -> Iterator[str]:
    """The address of an embedded Postgres, which is stopped and deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="foretell-reproduce-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # Postgres runs as a user of its own if this is root
        server = Postgres(
            directory=folder / "postgres",
            port=free_port(),
            superuser_password=os.urandom(16).hex(),
            password=os.urandom(16).hex(),
            log=folder / "postgres.log",
            options={},
        )
        try:
            server.start()
            yield server.url
        finally:
            server.stop()


def _django(*arguments: str, **settings: str) -> int:
    """A Django command in a process of its own, which reads its settings anew."""
    command = [sys.executable, "-m", "foretell", "manage", *arguments]
    return subprocess.call(command, env={**os.environ, **settings})  # noqa: S603
