"""Real web and worker processes on the test database, which a test may kill.

A test that uses them needs committed rows: ``@pytest.mark.django_db(transaction=True)``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
from django.db import connection

from foretell import env
from foretell.embedded.process import free_port, kill_group, spawn


def wait_until(condition: Callable[[], Any], seconds: float = 300.0, what: str = "") -> Any:
    """Wait for a true result of ``condition`` and return it; fail after ``seconds``.

    A condition that looks through all processes or asks a server is asked less often, so that it takes no more than a
    fifth of a processor from what it waits for.
    """
    deadline = time.monotonic() + seconds
    while (asked := time.monotonic()) < deadline:
        if result := condition():
            return result
        time.sleep(min(0.5, max(0.02, 4 * (time.monotonic() - asked))))
    raise AssertionError(f"not within {seconds} s: {what or condition}")


def group(leader: int) -> list[psutil.Process]:
    """The running processes of the group that this process leads or led. Zombies have ended."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, ProcessLookupError):
            continue
    return found


def shared_environment(**more: str) -> dict[str, str]:
    """The environment of a process that shares this test's database, Redis and files."""
    database = connection.settings_dict
    user, password = quote(database["USER"]), quote(database["PASSWORD"])
    address = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
    return {
        **{key: value for key, value in os.environ.items() if key != "DJANGO_ALLOW_ASYNC_UNSAFE"},
        "DATABASE_URL": f"postgres://{user}:{password}@{address}",
        "PYTHONUNBUFFERED": "1",
        **more,
    }


#: Settings that are options of a process's command, which is built here, where they have other values.
OPTIONS = {
    "WEB_WORKERS": "--workers",
    "WEB_THREADS": "--blocking-threads",
    "WORKER_CONCURRENCY": "--concurrency",
}


def with_options(command: list[str], settings: dict[str, str]) -> list[str]:
    """The command with the options that the settings ask for.

    >>> with_options(["celery", "--concurrency", "2"], {"WORKER_CONCURRENCY": "1", "DEBUG": "0"})
    ['celery', '--concurrency', '1']
    """
    made = list(command)
    for name, option in OPTIONS.items():
        if name in settings and option in made:
            made[made.index(option) + 1] = settings[name]
    return made


class Process:
    def __init__(self, command: list[str], log: Path, environment: dict[str, str]) -> None:
        self.command, self.log, self.environment = command, log, environment
        self.child: subprocess.Popen[bytes] | None = None
        #: The checkout whose code runs.
        self.code = env.ROOT

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.child = spawn(
                self.command,
                cwd=self.code,
                env=self.environment,
                output=output,
                on_parent_death=signal.SIGKILL,
            )

    def suspend(self) -> None:
        """Stop the process and its children where they are, until ``kill``."""
        assert self.child is not None
        os.killpg(self.child.pid, signal.SIGSTOP)

    def kill(self) -> None:
        """Kill the process and its children at once, as a power cut would. Return when all have ended."""
        assert self.child is not None
        leader = self.child.pid
        kill_group(leader)
        self.child.wait()
        wait_until(lambda: not group(leader), 300, "its children have ended")

    def stop(self) -> None:
        assert self.child is not None
        if self.child.poll() is None:
            self.child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(5)
        self.kill()
        print(self.text()[-10_000:])  # pytest shows it if the test has failed

    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class WebProcess(Process):
    """granian, as `make run` starts it, on a port of its own: ``url``."""

    def __init__(self, directory: Path, **settings: str) -> None:
        from foretell.serve import web_command

        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = web_command()
        command[command.index("--port") + 1] = str(self.port)
        command = with_options(command, settings)
        super().__init__(command, directory / f"web-{self.port}.log", shared_environment(**settings))

    def start(self) -> None:
        super().start()
        wait_until(self.answers, 300, f"the web process answers\n{self.text()}")

    def answers(self) -> bool:
        assert self.child is not None
        assert self.child.poll() is None, self.text()
        try:
            urllib.request.urlopen(f"{self.url}/healthz", timeout=20).close()
        except (OSError, urllib.error.URLError):
            return False
        return True


class WorkerProcess(Process):
    """A Celery worker on this test's Redis database, for all queues or as `make run` starts one of its two."""

    def __init__(self, directory: Path, *, only: str = "", **settings: str) -> None:
        from foretell.serve import COMMANDS, worker_command

        command = COMMANDS[only]() if only else worker_command(f"{env.SHORT_QUEUE},{env.LONG_QUEUE}")
        command = with_options(command, settings)
        super().__init__(command, directory / f"{only or 'worker'}.log", shared_environment(**settings))

    def start(self) -> None:
        before = self.text().count("ready.")
        super().start()
        wait_until(lambda: self.text().count("ready.") > before, 300, "the worker is ready")


def python(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run ``python …`` to its end in the test's environment, e.g. ``python("manage.py", "check")``."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=env.ROOT,
        env=shared_environment(**settings),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
