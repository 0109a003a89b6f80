"""``make run`` under kill -9, power cuts, stale files and busy ports, with its real processes."""

from __future__ import annotations

import os
import re
import signal
import socket
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from foretell.embedded import EmbeddedServers
from tests.installation import Installation
from tests.processes import wait_until

pytestmark = pytest.mark.fault


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("installation"))
    yield installation
    if installation.child and installation.child.poll() is None:
        installation.stop()


@pytest.fixture
def running(shared: Installation) -> Installation:
    if shared.child is None or shared.child.poll() is not None:
        shared.start()
    return shared


def gone(installation: Installation) -> Callable[[], bool]:
    return lambda: not installation.ours()


@pytest.mark.parametrize("victim", ["bin/postgres", "redis-server", "granian", "worker@", "housekeeping@"])
def test_a_killed_child_is_replaced_and_nothing_is_lost(running: Installation, victim: str) -> None:
    running.note(f"before the death of {victim}")
    before = running.notes()
    old = running.main(victim)
    descendants = old.children(recursive=True)
    old.kill()
    wait_until(lambda: not old.is_running() and running.main_or_none(victim), 300, f"a new {victim}")
    wait_until(running.serves, 300, "everything responds again")
    assert running.notes() == before
    wait_until(lambda: not any(alive(process) for process in descendants), 300, "its children are gone")


def test_a_killed_web_worker_is_replaced(running: Installation) -> None:
    main = running.main("granian")
    (old,) = [
        process for process in main.children() if "spawn" in " ".join(process.cmdline())
    ] or main.children()[:1]
    old.kill()
    wait_until(lambda: not alive(old), 300)
    (new,) = wait_until(lambda: [one for one in main.children() if alive(one)], 300, "a new one")
    wait_until(running.serves, 300, "the new one responds")
    assert running.main("granian").pid == main.pid
    assert new.cpu_times().user < 1, "it has loaded the application again"


def test_pages_are_served_while_the_web_server_is_replaced(running: Installation) -> None:
    """The children of the killed process serve until the new one does: the longest outage was as long as a start."""
    wait_until(running.serves, 300)
    old = running.main("granian")
    workers = old.children()
    old.kill()
    served_by_the_old = 0
    while (new := running.main_or_none("granian")) is None or new == old or any(map(alive, workers)):
        ready = any(map(alive, workers))
        assert page(running) == 200
        served_by_the_old += ready
    assert served_by_the_old > 0
    assert page(running) == 200
    wait_until(running.serves, 300)


def page(running: Installation) -> int:
    """The status of the first page; a request that was cut is sent again, as browsers do."""
    for last in (False, True):
        try:
            return int(urllib.request.urlopen(f"{running.url}/", timeout=60).status)
        except OSError:
            if last:
                raise
    return 0


def test_a_killed_supervisor_leaves_no_process_and_loses_nothing(running: Installation) -> None:
    running.note("before the death of the supervisor")
    before = running.notes()
    running.kill()
    wait_until(gone(running), 300, "every child is gone")
    running.start()
    assert running.notes() == before


def test_recovery_after_everything_is_killed_at_once(running: Installation) -> None:
    running.note("before the power cut")
    before = running.notes()
    victims = running.ours()
    running.child.send_signal(signal.SIGSTOP)  # so that it can't restart anything
    for process in victims:
        with suppress(psutil.NoSuchProcess):  # some end by themselves when their parent is killed
            process.kill()
    running.kill()
    running.start()
    assert running.notes() == before


def test_sigterm_stops_everything_and_a_second_start_prepares_nothing(running: Installation) -> None:
    """The second is what makes it fast; ``benchmarks/start`` measures the seconds."""
    assert running.stop() == 0
    wait_until(gone(running), 300, "every child is gone")
    before = running.log.read_text()
    assert "all data is kept" in before
    assert "preparing the database" in before
    running.start()
    assert "preparing" not in running.log.read_text().removeprefix(before)


def test_ctrl_c_stops_everything_and_the_next_start_copes_with_stale_and_damaged_files(
    running: Installation,
) -> None:
    """Postgres' pid file is of an unrelated process and is ignored; Redis' file is set aside."""
    assert running.child is not None
    running.child.send_signal(signal.SIGINT)
    assert running.child.wait(600) == 0
    wait_until(gone(running), 300, "every child is gone")
    pid_file = running.data / "postgres/data/postmaster.pid"
    pid_file.write_text(f"{os.getpid()}\n{running.data}\n1\n1\n\n127.0.0.1\n1 1\nready\n")
    (running.data / "redis/appendonly.aof").write_bytes(b"*1\r\n$9\r\nNONSENSE!\r\n*3\r\n$-7\r\n")
    running.start()
    assert running.serves()
    assert list(running.data.glob("redis-damaged-*"))


def test_a_second_run_on_the_same_data_is_refused(running: Installation) -> None:
    before = running.log.read_text().count("another `make run`")
    assert running.launch().wait(600) == 1
    log = running.log.read_text()
    assert log.count("another `make run`") == before + 1
    assert f"(process {running.child.pid})" in log
    assert running.serves()


def test_a_server_whose_port_is_taken_gets_another_port(running: Installation) -> None:
    running.note("before its port was taken")
    before = running.notes()
    running.stop()
    port = EmbeddedServers(running.data).postgres.port
    with socket.create_server(("127.0.0.1", port)):
        running.start()
        assert EmbeddedServers(running.data).postgres.port != port
        assert running.notes() == before


def test_a_busy_web_port_is_reported_before_anything_starts(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    with socket.create_server(("127.0.0.1", installation.port)):
        assert installation.launch().wait(600) == 1
    assert f"PORT={installation.port + 1} make run" in installation.log.read_text()
    assert installation.ours() == []


def test_no_password_is_on_a_command_line_or_readable_by_others(running: Installation) -> None:
    secrets = re.findall(r'"\w+(?:password|key)": "([^"]+)"', (running.data / "servers.json").read_text())
    assert len(secrets) == 4
    lines = list(running.command_lines().values())
    assert len(lines) > 5
    assert not [line for line in lines for secret in secrets if secret in line]
    for name in ("servers.json", "logs", "redis", "postgres/data"):
        assert (running.data / name).stat().st_mode & 0o077 == 0, name


def alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
