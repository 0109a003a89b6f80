"""The embedded Redis: queue and cache. It holds nothing that can't be restored from Postgres."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from foretell.embedded.binaries import reachable, redis_program
from foretell.embedded.errors import EmbeddedError
from foretell.embedded.postgres import tail
from foretell.embedded.process import end_leftovers, spawn, stop, wait_until
from foretell.embedded.system_user import SystemUser, check_owner, take_over


@dataclass
class Redis:
    directory: Path
    port: int
    password: str
    log: Path
    account: SystemUser = field(default_factory=SystemUser.for_servers)
    options: dict[str, str] = field(default_factory=dict)
    child: subprocess.Popen[bytes] | None = None
    killed: bool = False

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start the server; return when it responds. A damaged data file is moved away, since Redis may start empty."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0 and self.directory.stat().st_uid == 0:
            os.chown(self.directory, self.account.uid, self.account.gid)
        end_leftovers(self.directory, "", signal.SIGTERM)
        take_over(self.directory, self.account)
        check_owner(self.directory, self.account)
        if self._launch():
            return
        if self.killed:
            raise EmbeddedError("Redis was killed while it was starting")
        kept = self.directory.with_name(f"{self.directory.name}-damaged-{int(time.time())}")
        self.directory.rename(kept)
        self.directory.mkdir(mode=0o700)
        os.chown(self.directory, self.account.uid, self.account.gid)
        if not self._launch():
            raise EmbeddedError(f"Redis did not start. Last lines of {self.log}:\n{tail(self.log)}")

    def _launch(self) -> bool:
        program = reachable([redis_program()], self.account)[0]
        with tempfile.TemporaryFile() as config, self.log.open("ab") as output:
            # Read from standard input, so that the password is neither on the command line nor in a file.
            config.write("".join(f"{key} {value}\n" for key, value in self._config().items()).encode())
            config.seek(0)
            self.child = spawn(
                [str(program), "-"],
                cwd=self.directory,
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                output=output,
                on_parent_death=signal.SIGTERM,
                account=self.account,
                stdin=config,
            )
        started = wait_until(self.ready, self.child, seconds=300)
        # Damaged data ends Redis with an error; a signal says nothing about the data.
        self.killed = (self.child.poll() or 0) < 0
        if not started:
            self.stop()
        return started

    def _config(self) -> dict[str, str]:
        return {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "protected-mode": "yes",
            "requirepass": self.password,
            "dir": ".",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": '""',
            "databases": "64",
            "maxmemory-policy": "noeviction",
            "loglevel": "warning",
            **self.options,
        }

    def ready(self) -> bool:
        """Whether the server on our port accepts our password and responds (so it's ours, and has loaded its data)."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2 and (more := connection.recv(200)):
                    answer += more
                return answer == b"+OK\r\n+PONG\r\n"
        except OSError:
            return False

    def stop(self) -> None:
        if self.child is not None:
            stop(self.child, (signal.SIGTERM, 10))
            self.child = None
        end_leftovers(self.directory, "", signal.SIGTERM)
