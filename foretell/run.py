"""``make run`` and ``foretell run``: run Postgres, Redis, the scripted model, the web server and the workers until Ctrl-C.

Every process ends with this one, and the next start ends processes that a killed one left. Only one supervisor at a
time uses a data directory: it holds a file lock, which the kernel releases however the process ends.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import IO, Any

import psutil

from annotator.core.words import plural
from foretell import env, stand_in, unfinished_restore
from foretell.embedded import EmbeddedError, EmbeddedServers
from foretell.embedded.postgres import tail
from foretell.embedded.process import ask_for_parent_death_signal, die_with_parent, spawn
from foretell.embedded.watch import Server, WatchedServer
from foretell.serve import housekeeping_command, port_problem, web_command, worker_command
from foretell.stopping import Stopping, ignore_stop_signals, pause, stop_if_asked, stop_on_signals
from foretell.supervisor import MARK, Service, end_marked, stop_together

FIRST_PAGE_SECONDS = 300
COMMAND = "make run" if env.CHECKOUT else "foretell run"


class Fault(RuntimeError):
    """Why Foretell can't run; the message is shown to the person who started it."""


def say(text: str) -> None:
    print(f"[foretell] {text}", flush=True)


class LocalInstallation:
    """The processes of one data directory: started in order, watched, and stopped in reverse."""

    def __init__(self) -> None:
        env.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.data_dir = env.DATA_DIR.resolve()
        self.own_database = not env.GIVEN_DATABASE_URL
        self.own_redis = not env.GIVEN_REDIS_URL
        self.servers: EmbeddedServers | None = None
        self.services: list[Service] = []
        self.environment: dict[str, str] = {}
        self.demo_wanted = False
        self.demo: subprocess.Popen[bytes] | None = None

    # --- start ---------------------------------------------------------------------------------------

    def start(self) -> None:
        if left := end_marked(self.data_dir):
            say(f"ended {plural(left, 'process', 'processes')} left by an earlier run that was killed")
        self.check_port()
        self.start_servers()
        self.services = self.make_services()
        self.prepare()
        for service in self.services:
            stop_if_asked()
            service.start()
            if service.name == "web":
                self.wait_for_web(service)  # before the others compete for the processor
        if self.demo_wanted:
            self.load_demo()
        self.welcome()
        if problem := unfinished_restore.problem():
            say(problem)  # and continue: the restore needs these servers

    def check_port(self) -> None:
        if problem := port_problem():
            raise Fault(f"{problem}. Choose another port: PORT={env.PORT + 1} {COMMAND}")

    def start_servers(self) -> None:
        servers = EmbeddedServers(self.data_dir)
        self.servers = servers
        addresses = {
            "database_url": servers.start_postgres() if self.own_database else env.DATABASE_URL,
            "redis_url": servers.start_redis() if self.own_redis else env.REDIS_URL,
            "provider_url": f"http://127.0.0.1:{servers.port('provider_port')}/v1",
        }
        servers.remember(**addresses)
        self.environment = {
            **os.environ,
            MARK: str(self.data_dir),
            # The processes start in another folder, from which a relative path would be another one.
            "DATA_DIR": str(self.data_dir),
            "STATIC_ROOT": str(env.STATIC_ROOT.resolve()),
            "DJANGO_SETTINGS_MODULE": "foretell.settings",
            "DATABASE_URL": addresses["database_url"],
            "REDIS_URL": addresses["redis_url"],
            "SECRET_KEY": env.GIVEN_SECRET_KEY or servers.secret_key,
            "SCRIPTED_PROVIDER_URL": addresses["provider_url"],
            "STATIC_HASHED": "0" if env.DEBUG else "1",
            "PYTHONUNBUFFERED": "1",
        }
        if env.PANEL_STAND_IN:
            port, people = servers.port("stand_in_port"), env.PANEL_PEOPLE
            self.environment |= stand_in.variables(port, people=people)

    def make_services(self) -> list[Service]:
        provider = [sys.executable, "-m", "evaluation.providers.scripted.server"]
        provider += ["--port", env_port(self.environment["SCRIPTED_PROVIDER_URL"])]
        term, quit_ = signal.SIGTERM, signal.SIGQUIT
        services = [self.service("web", web_command(), term, ((term, 12),))]
        services[0].port = env.PORT
        for name, command in (("worker", worker_command()), ("housekeeping", housekeeping_command())):
            # Killed together with the supervisor, because its servers are gone by then; its tasks resume later.
            # In an orderly stop it gets a few seconds. Celery itself would wait until its tasks are finished.
            steps = ((term, 3), (quit_, 3))
            sole = str(self.own_redis)
            services.append(self.service(name, command, signal.SIGKILL, steps, SOLE_WORKER=sole))
        if (env.ROOT / "evaluation/providers/scripted/server.py").is_file():
            services.append(self.service("provider", provider, term, ((term, 3),)))
        if env.PANEL_STAND_IN:
            port, people = int(env_port(self.environment[stand_in.ADDRESS])), env.PANEL_PEOPLE
            command = stand_in.command(port, people=people, site=self.site())
            services.append(self.service("stand-in", command, term, ((term, 3),)))
        return services

    def service(
        self, name: str, command: list[str], on_death: signal.Signals, steps: Any, **more: str
    ) -> Service:
        return Service(
            name=name,
            command=command,
            log=self.data_dir / "logs" / f"{name}.log",
            environment={**self.environment, **more},
            on_parent_death=on_death,
            stop_steps=steps,
            cwd=env.ROOT,
        )

    def prepare(self) -> None:
        """Run migrations and collect static files in one child process, if anything changed."""
        from foretell import prepare

        wait_for_postgres(self.environment["DATABASE_URL"], seconds=30)
        parts = prepare.needed(
            database_url=self.environment["DATABASE_URL"],
            provider_url=self.environment["SCRIPTED_PROVIDER_URL"],
        )
        if env.DEBUG:
            parts = [part for part in parts if part != "static"]
        # Loading the demo takes a minute: it happens behind the first page, which shows its progress.
        self.demo_wanted = "demo" in parts and env.DEMO
        if self.demo_wanted:
            prepare.PROGRESS.write_text("0")
        parts = [part for part in parts if part != "demo"]
        if not parts:
            return
        child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "foretell.prepare", *parts],
            cwd=env.ROOT,
            env=self.environment,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
        while child.poll() is None:
            pause(0.05)  # if it stops here, the child ends with the other marked processes
        if child.returncode:
            raise Fault("preparing the database failed; the reason is shown above")

    def load_demo(self) -> None:
        say("loading the demo studies; everything else works meanwhile")
        with (self.data_dir / "logs" / "demo.log").open("wb") as output:
            self.demo = spawn(
                [sys.executable, "-m", "foretell.prepare", "demo"],
                cwd=env.ROOT,
                env=self.environment,
                output=output,
                on_parent_death=signal.SIGKILL,  # the next start continues where this one stopped
            )

    def watch_demo(self) -> None:
        if self.demo is None or self.demo.poll() is None:
            return
        failed, self.demo = self.demo.returncode, None
        log = self.data_dir / "logs" / "demo.log"
        if failed:
            say(
                f"loading the demo studies failed; the next start tries again. Last lines of {log}:\n{tail(log, 5)}"
            )
        else:
            say("the demo studies are loaded")
            self.welcome()

    def wait_for_web(self, web: Service) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(env.HOST, env.HOST)  # noqa: S104
        deadline = time.monotonic() + FIRST_PAGE_SECONDS
        while time.monotonic() < deadline and web.running():
            with contextlib.suppress(OSError, urllib.error.URLError):
                urllib.request.urlopen(f"http://{host}:{env.PORT}/healthz", timeout=5).close()
                return
            pause(0.02)
        raise Fault(f"the web server did not respond; see {web.log}")

    def site(self) -> str:
        host = "127.0.0.1" if env.HOST in ("0.0.0.0", "::") else env.HOST  # noqa: S104
        return f"http://{host}:{env.PORT}"

    def welcome(self) -> None:
        base = self.site()
        entrances = [{"label": "researchers", "url": "/admin/"}]
        if env.DEMO:
            with contextlib.suppress(OSError, ValueError):
                entrances = json.loads((self.data_dir / "demo.json").read_text())
        lines = [f"Foretell is running at {base}/"]
        for entrance in entrances:
            note = " / ".join(entrance[key] for key in ("username", "password", "about") if entrance.get(key))
            lines.append(f"{entrance['label']:<12} {base}{entrance['url']}  {note}".rstrip())
        if env.PANEL_STAND_IN:
            lines.append(f"{'panel':<12} {self.environment[stand_in.ADDRESS]}/  token {stand_in.TOKEN}")
        lines.append(f"Data and logs are in {self.data_dir}. Press Ctrl-C to stop.")
        print("\n  " + "\n  ".join(lines) + "\n", flush=True)

    # --- keep ----------------------------------------------------------------------------------------

    def watched(self) -> list[WatchedServer]:
        """The embedded servers that were started. Where ``DATABASE_URL`` or ``REDIS_URL`` is set, there is none."""
        if self.servers is None:
            return []
        both: dict[str, Server] = {"Postgres": self.servers.postgres, "Redis": self.servers.redis}
        return [WatchedServer(name, server) for name, server in both.items() if server.child is not None]

    def watch(self) -> None:
        watched = self.watched()
        while True:
            pause(0.2)
            for server in watched:
                server.check(say)
            for service in self.services:
                service.check(say)
            self.watch_demo()

    # --- stop ----------------------------------------------------------------------------------------

    def stop(self) -> None:
        stop_together(self.services)
        end_marked(self.data_dir)  # a signal may have arrived between starting a process and recording it
        if self.servers:
            self.servers.stop()


def env_port(url: str) -> str:
    return url.rpartition(":")[2].partition("/")[0]


def wait_for_postgres(url: str, seconds: float) -> None:
    import psycopg

    deadline = time.monotonic() + seconds
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                raise Fault(f"Postgres did not respond: {str(error).strip()}") from None
            pause(0.3)


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Hold the lock of the data directory. If another process holds it, say which."""
    env.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    file: IO[str] = (env.DATA_DIR / "lock").open("a+")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise Fault(
                f"another `{COMMAND}` (process {file.read().strip() or '?'}) is using {env.DATA_DIR}. Stop it first, "
                f"or choose another directory and port: DATA_DIR=… PORT=… {COMMAND}"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def main() -> int:
    faulthandler.register(signal.SIGUSR1)  # prints where it waits, should it ever not stop
    stop_on_signals()
    if psutil.Process(os.getppid()).name() in ("make", "gmake"):
        ask_for_parent_death_signal(signal.SIGTERM)
    try:
        with only_one():
            installation = LocalInstallation()
            try:
                installation.start()
                installation.watch()
            finally:
                ignore_stop_signals()
                installation.stop()
    except Stopping:
        say("stopped; all data is kept")
        return 0
    except (Fault, EmbeddedError) as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
