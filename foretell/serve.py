"""Start one process of an installation: ``python -m foretell.serve web | worker | housekeeping | beat``."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable

from foretell import env, unfinished_restore


def web_command() -> list[str]:
    if env.DEBUG:
        return [sys.executable, "-m", "foretell", "manage", "runserver", f"{env.HOST}:{env.PORT}"]
    return [
        *(sys.executable, "-m", "foretell.preloaded_granian", "--interface", "wsgi", "--no-ws"),
        *("--host", env.HOST, "--port", str(env.PORT)),
        *("--workers", str(env.WEB_WORKERS), "--blocking-threads", str(env.WEB_THREADS)),
        *("--respawn-failed-workers", "--workers-kill-timeout", "10"),
        "foretell.wsgi:application",
    ]


def worker_command(queues: str = env.LONG_QUEUE) -> list[str]:
    """The worker for jobs that take long: runs, reports, pipelines, exports."""
    return [
        *_celery_worker("worker", queues),
        *("--concurrency", str(env.WORKER_CONCURRENCY)),
    ]


def housekeeping_command() -> list[str]:
    """The worker for short periodic tasks, such as the expiry of leases.

    It has a process and a queue of its own, so that annotators never wait for a researcher's job. It runs one task
    at a time in its only process, which keeps it small.
    """
    return [*_celery_worker("housekeeping", env.SHORT_QUEUE), "--pool", "solo"]


def _celery_worker(name: str, queues: str) -> list[str]:
    return [
        *(sys.executable, "-m", "celery", "-A", "foretell", "worker", "--loglevel", env.LOG_LEVEL),
        *("--hostname", f"{name}@%h", "--queues", queues, "--without-gossip", "--without-mingle"),
    ]


def beat_command() -> list[str]:
    return [
        *(sys.executable, "-m", "celery", "-A", "foretell", "beat", "--loglevel", env.LOG_LEVEL),
        *("--scheduler", "foretell.beat:MemoryScheduler", "--pidfile", ""),
    ]


def port_problem() -> str:
    """Why nothing can listen on ``HOST:PORT``; empty if it's free.

    granian shares its port with other processes (``SO_REUSEPORT``), so that it would start beside any of them that does the same,
    and each would get a part of the requests. This socket shares nothing.
    """
    with socket.socket(socket.AF_INET6 if ":" in env.HOST else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((env.HOST, env.PORT))
        except OSError as error:
            return f"cannot listen on {env.HOST}:{env.PORT} ({error.strerror})"
    return ""


COMMANDS: dict[str, Callable[[], list[str]]] = {
    "web": web_command,
    "worker": worker_command,
    "housekeeping": housekeeping_command,
    "beat": beat_command,
}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        print(f"usage: python -m foretell.serve {' | '.join(COMMANDS)}", file=sys.stderr)
        return 2
    if problem := unfinished_restore.problem():
        print(problem, file=sys.stderr)
        return 1
    if sys.argv[1] == "web" and (problem := port_problem()):
        print(f"{problem}. Stop the process that uses it, or set PORT.", file=sys.stderr)
        return 1
    command = COMMANDS[sys.argv[1]]()
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    sys.exit(main())
