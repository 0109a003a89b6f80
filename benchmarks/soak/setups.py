"""The set-ups whose processes a soak test kills: `make run`, those that Compose runs in production, and more than one host."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random
from typing import Protocol

import psutil
import psycopg

from benchmarks.soak.pooler import Pooler
from foretell import env
from foretell.embedded import EmbeddedServers
from foretell.embedded.process import free_port, kill_group, processes_in, spawn
from foretell.serve import COMMANDS
from tests.installation import Installation
from tests.processes import wait_until
from tests.replica import replica_make

#: All annotators come from this machine; limits on joining aren't tested here.
LIMITS = {"JOINS_PER_ADDRESS": "1000000", "JOINS_PER_ACCOUNT": "1000"}
SITE = "studies.example.org"


class Server(Protocol):
    child: subprocess.Popen[bytes] | None

    def start(self) -> None: ...


class Setup(Protocol):
    addresses: list[str]
    headers: dict[str, str]
    database_url: str

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self, victim: str, rng: Random) -> bool: ...
    def manage(self, *arguments: str) -> str: ...


def kill_pid(process: psutil.Process) -> bool:
    """Kill it as a power cut would, and wait until it is gone."""
    with contextlib.suppress(psutil.Error):
        process.kill()
        process.wait(300)
        return True
    return False


def kill_child(main: psutil.Process, rng: Random) -> bool:
    """Kill one of the processes that handle requests, which their parent replaces."""
    with contextlib.suppress(psutil.Error):
        children = [one for one in main.children() if "granian" in " ".join(one.cmdline())]
        return bool(children) and kill_pid(rng.choice(children))
    return False


def kill_backend(data: Path, rng: Random) -> bool:
    """Kill the process of one connection: Postgres then ends all connections and recovers."""
    found = [
        process for process in processes_in(data, "postgres") if "foretell" in " ".join(process.cmdline())
    ]
    return bool(found) and kill_pid(rng.choice(found))


def run_manage(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=env.ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


class Embedded:
    """`make run`: its supervisor restarts what is killed."""

    WORDS = {
        "web": "granian", "worker": "worker@", "housekeeping": "housekeeping@", "postgres": "bin/postgres",
        "redis": "redis-server",
    }  # fmt: skip

    def __init__(self, directory: Path) -> None:
        self.run = Installation(directory, WEB_WORKERS="2", **LIMITS)
        self.addresses = [self.run.url]
        self.headers: dict[str, str] = {}
        self.database_url = ""

    def start(self) -> None:
        self.run.start()
        self.database_url = EmbeddedServers(self.run.data).postgres.url

    def stop(self) -> None:
        if self.run.child is not None and self.run.child.poll() is None:
            self.run.stop()

    def manage(self, *arguments: str) -> str:
        return run_manage(self.run.environment(), *arguments)

    def kill(self, victim: str, rng: Random) -> bool:
        if victim == "postgres backend":
            return kill_backend(self.run.data / "postgres/data", rng)
        word = self.WORDS["web" if victim == "web worker" else victim]
        main = wait_until(lambda: self.run.main_or_none(word), 300, f"{victim} runs")
        if victim == "web worker":
            return kill_child(main, rng)
        return kill_pid(main)


class Processes:
    """Two web processes, worker, housekeeping and beat with production settings; restarted at once, as Compose does.

    The annotators send the headers of a proxy that terminates TLS.
    """

    KINDS = {
        "web-1": "web",
        "web-2": "web",
        "worker": "worker",
        "housekeeping": "housekeeping",
        "beat": "beat",
    }

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.servers = EmbeddedServers(directory / "servers")
        self.ports = {"web-1": free_port(), "web-2": free_port()}
        self.addresses = [f"http://127.0.0.1:{port}" for port in self.ports.values()]
        self.headers = {
            "Host": SITE,
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "192.0.2.1",
            "Origin": f"https://{SITE}",
            "Referer": f"https://{SITE}/",
        }
        self.environment: dict[str, str] = {}
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.keeper = threading.Thread(target=self.keep)
        self.database_url = ""

    def start(self) -> None:
        self.database_url = self.servers.start_postgres()
        redis_url = self.servers.start_redis()
        for secret in ("DJANGO_SETTINGS_MODULE", "DEBUG"):
            os.environ.pop(secret, None)
        self.environment = {
            **os.environ,
            **LIMITS,
            "FORETELL_PRODUCTION": "1",
            "SECRET_KEY": secrets.token_urlsafe(60),
            "DATABASE_URL": self.database_url,
            "REDIS_URL": redis_url,
            "ALLOWED_HOSTS": SITE,
            "CSRF_TRUSTED_ORIGINS": f"https://{SITE}",
            "PROXIES": "1",
            "EMAIL_URL": "smtp+tls://user:password@127.0.0.1:1",
            "DATA_DIR": str(self.directory / "data"),
            "STATIC_ROOT": str(self.directory / "static"),
            "WEB_WORKERS": "1",
            "WORKER_CONCURRENCY": "1",
            "PYTHONUNBUFFERED": "1",
        }
        self.manage("migrate", "--verbosity", "0")
        self.manage("collectstatic", "--noinput", "--verbosity", "0")
        self.before_launch()
        for name in self.KINDS:
            self.launch(name)
        self.keeper.start()
        wait_until(self.serves, 300, "the web processes respond")

    def before_launch(self) -> None:
        """What else is needed once there is a database."""

    def environment_of(self, name: str) -> dict[str, str]:
        return self.environment

    def launch(self, name: str) -> None:
        command = COMMANDS[self.KINDS[name]]()
        if name in self.ports:
            command[command.index("--port") + 1] = str(self.ports[name])
            command[command.index("--workers") + 1] = "1"
        with (self.directory / f"{name}.log").open("ab") as output:
            self.children[name] = spawn(
                command,
                cwd=env.ROOT,
                env=self.environment_of(name),
                output=output,
                on_parent_death=signal.SIGKILL,
            )

    def serves(self) -> bool:
        import urllib.request

        for address in self.addresses:
            request = urllib.request.Request(f"{address}/healthz", headers=self.headers)
            try:
                urllib.request.urlopen(request, timeout=5).close()
            except OSError:
                return False
        return True

    def keep(self) -> None:
        """Restart whatever ended."""
        while not self.over.wait(0.2):
            with self.lock:
                for name, child in self.children.items():
                    if child.poll() is not None:
                        kill_group(child.pid)
                        self.launch(name)
                for server in self.restarted():
                    if server.child is not None and server.child.poll() is not None:
                        server.start()

    def restarted(self) -> list[Server]:
        return [self.servers.postgres, self.servers.redis]

    def manage(self, *arguments: str) -> str:
        return run_manage(self.environment, *arguments)

    def kill(self, victim: str, rng: Random) -> bool:
        if victim == "postgres backend":
            return kill_backend(self.servers.postgres.directory, rng)
        with self.lock:
            child = self.victim(victim, rng)
            if child is None or child.poll() is not None:
                return False
            main = psutil.Process(child.pid)
            if victim != "web worker":
                main.kill()
                return True
            return kill_child(main, rng)

    def victim(self, name: str, rng: Random) -> subprocess.Popen[bytes] | None:
        if name in ("postgres", "redis"):
            return getattr(self.servers, name).child  # type: ignore[no-any-return]
        if name in ("web", "web worker"):
            return self.children[rng.choice(list(self.ports))]
        return self.children[rng.choice([one for one, kind in self.KINDS.items() if kind == name])]

    def stop(self) -> None:
        self.over.set()
        if self.keeper.is_alive():
            self.keeper.join()
        for child in self.children.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
        deadline = time.monotonic() + 15
        for child in self.children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.1, deadline - time.monotonic()))
            kill_group(child.pid)
        self.servers.stop()


class Hosts(Processes):
    """As if each process had a host of its own: two of each kind, a pooler before the web processes, a replica for reports."""

    KINDS = {
        "web-1": "web", "web-2": "web", "worker-1": "worker", "worker-2": "worker",
        "housekeeping-1": "housekeeping", "housekeeping-2": "housekeeping", "beat": "beat",
    }  # fmt: skip

    def before_launch(self) -> None:
        self.pooler = Pooler(self.directory / "pooler", self.servers.postgres)
        self.pooler.start()
        self.replica = replica_make(self.servers.postgres, self.directory / "replica")
        self.environment["DATABASE_REPLICA_URL"] = self.replica.url

    def environment_of(self, name: str) -> dict[str, str]:
        pooled = {"DATABASE_POOLER_URL": self.pooler.url} if self.KINDS[name] == "web" else {}
        return self.environment | pooled

    def restarted(self) -> list[Server]:
        return [*super().restarted(), self.pooler, self.replica]

    def victim(self, name: str, rng: Random) -> subprocess.Popen[bytes] | None:
        if name in ("pooler", "replica"):
            return getattr(self, name).child  # type: ignore[no-any-return]
        return super().victim(name, rng)

    def stop(self) -> None:
        super().stop()
        for one in ("pooler", "replica"):
            if hasattr(self, one):
                getattr(self, one).stop()


SETUPS = {"embedded": Embedded, "processes": Processes, "hosts": Hosts}


def count(database_url: str, query: str) -> int | None:
    """The number that a query returns; None while Postgres is restarting."""
    try:
        with psycopg.connect(database_url, connect_timeout=5) as connection:
            row = connection.execute(query.encode()).fetchone()
            return int(row[0]) if row else None
    except psycopg.Error:
        return None
