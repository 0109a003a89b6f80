"""Start one process of an installation: ``python -m foretell.serve web | worker | beat``."""

from __future__ import annotations

import os
import sys

from foretell import env


def web_command() -> list[str]:
    if env.DEBUG:
        return [sys.executable, "manage.py", "runserver", f"{env.HOST}:{env.PORT}"]
    return [
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws"),
        *("--host", env.HOST, "--port", str(env.PORT)),
        *("--workers", str(env.WEB_WORKERS), "--blocking-threads", str(env.WEB_THREADS)),
        *("--respawn-failed-workers", "--workers-kill-timeout", "10"),
        "foretell.wsgi:application",
    ]


def worker_command() -> list[str]:
    return [
        *(sys.executable, "-m", "celery", "-A", "foretell", "worker", "--loglevel", env.LOG_LEVEL),
        *("--concurrency", str(env.WORKER_CONCURRENCY), "--without-gossip", "--without-mingle"),
    ]


def beat_command() -> list[str]:
    # Beat writes this file every few minutes; the health check looks at its age.
    return [
        *(sys.executable, "-m", "celery", "-A", "foretell", "beat", "--loglevel", env.LOG_LEVEL),
        *("--schedule", "/tmp/beat-schedule", "--pidfile", ""),  # noqa: S108
    ]


COMMANDS = {"web": web_command, "worker": worker_command, "beat": beat_command}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        print(f"usage: python -m foretell.serve {' | '.join(COMMANDS)}", file=sys.stderr)
        return 2
    command = COMMANDS[sys.argv[1]]()
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    sys.exit(main())
