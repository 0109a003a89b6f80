"""A pgbouncer in transaction mode before a Postgres: the machine's own, otherwise Debian's package (as root)."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

from foretell.embedded.postgres import DATABASE, ROLE, Postgres
from foretell.embedded.process import free_port, spawn
from tests.apt import NotInstalled, apt_install

ACCOUNT = "nobody"  # pgbouncer refuses to run as root


def pgbouncer() -> str:
    """The path of the program; empty if there is none and it can't be installed."""
    if not _found():
        with contextlib.suppress(NotInstalled, subprocess.SubprocessError):
            apt_install("pgbouncer", installed=lambda: bool(_found()))
    return _found()


def _found() -> str:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""


class Pooler:
    """Connections of the server are lent for a transaction, so fewer of them serve all web threads."""

    SERVER_CONNECTIONS = 3

    def __init__(self, directory: Path, postgres: Postgres) -> None:
        self.directory, self.postgres, self.port = directory, postgres, free_port()
        self.child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgres://{ROLE}:{self.postgres.password}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self) -> None:
        self.directory.mkdir(exist_ok=True)
        password = self.postgres.password
        (self.directory / "users").write_text(f'"{ROLE}" "{password}"\n')
        settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": "", "pool_mode": "transaction",
            "auth_type": "scram-sha-256", "auth_file": self.directory / "users", "max_client_conn": 500,
            "default_pool_size": self.SERVER_CONNECTIONS, "server_login_retry": 1, "query_wait_timeout": 60,
        }  # fmt: skip
        lines = [f"{name} = {value}" for name, value in settings.items()]
        server = f"{DATABASE} = host=127.0.0.1 port={self.postgres.port}"
        (self.directory / "pgbouncer.ini").write_text(
            "\n".join(["[databases]", server, "[pgbouncer]", *lines, ""])
        )
        command = [pgbouncer(), str(self.directory / "pgbouncer.ini")]
        if os.geteuid() == 0:
            owner = pwd.getpwnam(ACCOUNT)
            for path in (self.directory, *self.directory.iterdir()):
                os.chown(path, owner.pw_uid, owner.pw_gid)
            # It reads its files before it gives up root, for which the folders above it are closed.
            command[1:1] = ["--user", ACCOUNT]
        with (self.directory.parent / "pgbouncer.log").open("ab") as output:
            self.child = spawn(
                command,
                cwd=self.directory,
                env=dict(os.environ),
                output=output,
                on_parent_death=signal.SIGKILL,
            )

    def stop(self) -> None:
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.wait(30)
