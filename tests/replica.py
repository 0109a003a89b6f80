"""A streaming replica of an embedded Postgres, made with ``pg_basebackup``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from foretell.embedded.binaries import postgres_install
from foretell.embedded.postgres import SUPERUSER, Postgres
from foretell.embedded.process import free_port


def replica_make(primary: Postgres, directory: Path) -> Postgres:
    """Copy a running server and start the copy, which follows it from then on."""
    directory.mkdir(mode=0o711)
    install = postgres_install((primary.directory / "PG_VERSION").read_text().strip())
    subprocess.run(
        [
            str(install / "bin" / "pg_basebackup"), "--pgdata", str(directory / "data"), "--write-recovery-conf",
            "--host=127.0.0.1", f"--port={primary.port}", f"--username={SUPERUSER}", "--checkpoint=fast",
        ],
        env={**os.environ, "PGPASSWORD": primary.superuser_password},
        check=True,
        capture_output=True,
    )  # fmt: skip
    (directory / "database-made").touch()
    copy = Postgres(
        directory=directory / "data", port=free_port(), superuser_password=primary.superuser_password,
        password=primary.password, log=directory / "postgres.log", options=primary.options,
    )  # fmt: skip
    copy.log.touch()
    for path in (copy.directory, *copy.directory.rglob("*")):
        os.chown(path, copy.account.uid, copy.account.gid)
    copy.start()
    return copy


def superuser_url(server: Postgres) -> str:
    return f"postgres://{SUPERUSER}:{server.superuser_password}@127.0.0.1:{server.port}/foretell"
