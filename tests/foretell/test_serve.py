"""`foretell.serve`: the web process's port and beat's schedule."""

from __future__ import annotations

import re
import socket
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from foretell import beat, env
from foretell.beat import MemoryScheduler
from foretell.celery import app
from foretell.embedded.process import free_port
from foretell.serve import COMMANDS, beat_command
from tests.processes import Process, python, shared_environment, wait_until


@pytest.mark.django_db
@pytest.mark.parametrize("shares", [False, True])
def test_a_web_process_does_not_start_on_a_used_port(shares: bool) -> None:
    """Also beside a process that shares the port, as granian does: each would get a part of the requests."""
    with socket.socket() as used:
        if shares:
            used.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        used.bind(("127.0.0.1", free_port()))
        used.listen()
        port = str(used.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "foretell.serve", "web"],
            cwd=env.ROOT,
            env=shared_environment(HOST="127.0.0.1", PORT=port),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use)" in done.stderr


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(env, "DATA_DIR", tmp_path / "data")
    return tmp_path / "data"


def test_every_periodic_task_is_due_when_beat_starts(data_dir: Path) -> None:
    """Beat forgets the past when it stops: tasks that run once an hour would wait for an hour after each restart."""
    scheduler = MemoryScheduler(app)
    assert set(scheduler.schedule) == set(app.conf.beat_schedule) != set()
    assert all(entry.is_due().is_due for entry in scheduler.schedule.values())
    again = next(iter(scheduler.schedule.values())).next()
    assert timezone.now() - again.last_run_at < timedelta(minutes=1)


def test_beat_writes_one_empty_private_file_in_the_data_directory(data_dir: Path) -> None:
    MemoryScheduler(app).sync()
    assert [path.name for path in data_dir.iterdir()] == ["beat-alive"]
    assert beat.alive_file().read_bytes() == b""
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700


@pytest.mark.django_db
def test_the_beat_process_runs_without_a_file_that_others_could_prepare(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    (tmp_path / "data").mkdir()
    environment = shared_environment(DATA_DIR=str(tmp_path / "data"), TMPDIR=str(folder))
    process = Process(beat_command(), tmp_path / "beat.log", environment)
    process.start()
    try:
        wait_until((tmp_path / "data" / "beat-alive").exists, 120, "beat is alive")
    finally:
        process.stop()
    assert list(folder.iterdir()) == []
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["beat-alive"]


FIRST_PAGE = """
import io, sys
from foretell.wsgi import application
before = set(sys.modules)
said = []
request = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "SERVER_NAME": "localhost", "SERVER_PORT": "80", "wsgi.input": io.BytesIO(),
           "wsgi.errors": sys.stderr, "wsgi.url_scheme": "http", "HTTP_HOST": "localhost"}
list(application(request, lambda status, headers: said.append(status)))
print(said, sorted(name for name in set(sys.modules) - before if name.startswith(("annotator", "evaluation"))))
"""


@pytest.mark.django_db
def test_a_process_that_is_ready_has_loaded_what_its_first_page_needs() -> None:
    """/healthz says when that is; the first visitor would otherwise wait for all views to be imported."""
    assert python("-c", FIRST_PAGE).stdout.splitlines()[-1] == "['200 OK'] []"


def sources() -> list[Path]:
    folders = ("annotator", "evaluation", "foretell", "deploy")
    return [env.ROOT / "manage.py", *(path for name in folders for path in (env.ROOT / name).rglob("*.py"))]


def test_no_code_reads_a_pickle() -> None:
    """Reading one runs the code in it. Also not through a library: joblib, shelve, numpy, pandas, Celery's own default."""
    reads = re.compile(r"\b(import|from) (pickle|cPickle|dill|cloudpickle|shelve|marshal|joblib)\b|read_pickle|allow_pickle=True"
                       r"|PersistentScheduler|[\"']pickle[\"']|torch\.load\(")  # fmt: skip
    assert [str(path) for path in sources() if reads.search(path.read_text())] == []
    assert app.conf.accept_content == ["json"]
    assert not any("--schedule" in command() for command in COMMANDS.values())


def test_no_code_uses_a_fixed_name_in_a_folder_that_every_user_can_write_to() -> None:
    shared = re.compile(r"[\"'](/tmp|/var/tmp|/dev/shm|/run/lock)\b|gettempdir\(\)")
    assert [str(path) for path in sources() if shared.search(path.read_text())] == []
