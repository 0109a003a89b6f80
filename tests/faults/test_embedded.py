"""The embedded servers under faults."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from foretell import env
from foretell.embedded import EmbeddedError, EmbeddedServers, binaries, system_user
from foretell.embedded.process import processes_in
from foretell.embedded.system_user import SystemUser, check_owner
from foretell.embedded.watch import WatchedServer
from foretell.supervisor import Service
from tests.processes import wait_until

pytestmark = pytest.mark.fault
FAST = {"fsync": "off"}
START = """
import sys, time
from pathlib import Path
from foretell.embedded import EmbeddedServers
EmbeddedServers(Path(sys.argv[1]), postgres_options={"fsync": "off"}).start_postgres()
print("up", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("after", [0.05, 0.25, 0.5, 0.8])
def test_a_killed_first_start_is_completed_by_the_next(tmp_path: Path, after: float) -> None:
    child = subprocess.Popen([sys.executable, "-c", START, str(tmp_path)], cwd=env.ROOT)
    wait_until((tmp_path / "servers.json").exists, 300, "it has begun")
    time.sleep(after)  # the moment of the kill; there is nothing to wait for
    child.kill()
    child.wait()
    servers = EmbeddedServers(tmp_path, postgres_options=FAST)
    url = servers.start_postgres()
    try:
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT current_user::text").fetchone() == ("foretell",)
            connection.execute("CREATE TABLE works (x int)")
    finally:
        servers.stop()
    assert processes_in(tmp_path / "postgres/data", "postgres") == []


def test_the_applications_role_is_no_superuser(tmp_path: Path) -> None:
    servers = EmbeddedServers(tmp_path, postgres_options=FAST)
    try:
        with psycopg.connect(servers.start_postgres()) as connection:
            row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
            assert row == (False,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("COPY (SELECT 1) TO PROGRAM 'true'")
        wrong = servers.postgres.url.replace(servers.postgres.password, "guess")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)
    finally:
        servers.stop()


@pytest.fixture
def closed_home() -> Iterator[Path]:
    """Programs in a directory that only its owner can enter, below one that everyone can enter."""
    base = Path(tempfile.mkdtemp(prefix="foretell-closed-", dir="/var/tmp"))
    base.chmod(0o755)
    home = base / "home"
    home.mkdir(mode=0o700)
    (home / "lib").mkdir()
    (home / "lib" / "part").write_text("part")
    (home / "program").write_text("#!/bin/sh\necho ran\n")
    (home / "program").chmod(0o700)
    yield base
    shutil.rmtree(base)


def test_programs_in_a_private_directory_are_copied(
    closed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (closed_home / "open").mkdir(mode=0o755)
    monkeypatch.setattr(binaries, "REACHABLE", (Path("/nonexistent"), closed_home / "open"))
    account = SystemUser(uid=65534, gid=65534, dropped=True)
    parts = [closed_home / "home" / "program", closed_home / "home" / "lib"]
    assert not any(binaries.others_can_read(part) for part in parts)
    program, library = binaries.reachable(parts, account)
    assert program.is_relative_to(closed_home / "open")
    assert binaries.others_can_read(program)
    assert binaries.others_can_read(library)
    assert program.stat().st_mode & stat.S_IXOTH
    assert subprocess.run([program], capture_output=True, check=True).stdout == b"ran\n"

    first = program.stat().st_mtime_ns, program.stat().st_ino
    assert binaries.reachable(parts, account) == [program, library]
    assert (program.stat().st_mtime_ns, program.stat().st_ino) == first, "a complete copy is reused"

    (library / "part").unlink()
    binaries.reachable(parts, account)
    assert (library / "part").read_text() == "part", "an incomplete copy is replaced"
    parts[0].write_text("#!/bin/sh\necho upgraded\n")
    binaries.reachable(parts, account)
    assert subprocess.run([program], capture_output=True, check=True).stdout == b"upgraded\n"


def test_readable_programs_are_not_copied(closed_home: Path) -> None:
    parts = [closed_home / "home" / "program"]
    assert binaries.reachable(parts, SystemUser(os.geteuid(), os.getegid(), dropped=False)) == parts


def test_a_redis_from_path_that_is_a_link_keeps_its_name(
    closed_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's redis-server is a link to redis-check-rdb, which behaves according to the name it is called by."""
    real = binaries.redis_program()
    program = closed_home / "redis-check-rdb"
    program.write_text(f'#!/bin/sh\necho "called $0"\nexec {real} "$@"\n')
    program.chmod(0o755)
    (closed_home / "redis-server").symlink_to(program.name)
    monkeypatch.setattr(binaries, "package_dir", lambda name: None)
    monkeypatch.setenv("PATH", f"{closed_home}:{os.environ['PATH']}")
    servers = EmbeddedServers(tmp_path)
    servers.start_redis()
    servers.stop()
    assert f"called {closed_home / 'redis-server'}" in servers.redis.log.read_text()


def test_without_redis_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "package_dir", lambda name: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EmbeddedError, match="Install redis-server or valkey-server"):
        binaries.redis_program()


def test_data_of_another_postgres_version_is_refused(tmp_path: Path) -> None:
    servers = EmbeddedServers(tmp_path)
    servers.postgres.directory.mkdir(mode=0o700)
    os.chown(servers.postgres.directory, servers.postgres.account.uid, -1)
    (servers.postgres.directory / "PG_VERSION").write_text("12\n")
    with pytest.raises(EmbeddedError, match="is of Postgres 12"):
        servers.start_postgres()


def test_data_of_another_user_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match="run as the user who made it"):
        check_owner(tmp_path, SystemUser(uid=os.geteuid() + 1, gid=1, dropped=True))


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers as another user")


@as_root
def test_servers_that_root_starts_run_as_their_own_user(tmp_path: Path) -> None:
    servers = EmbeddedServers(tmp_path, postgres_options=FAST)
    try:
        servers.start_postgres()
        servers.start_redis()
        own = pwd.getpwnam("foretell-servers")
        assert own.pw_uid not in (0, pwd.getpwnam("nobody").pw_uid)
        assert own.pw_shell.endswith("nologin")
        for directory in (tmp_path / "postgres/data", tmp_path / "redis"):
            assert {one.uids().real for one in processes_in(directory, "")} == {own.pw_uid}
    finally:
        servers.stop()


@as_root
def test_data_of_an_earlier_version_that_ran_as_nobody_is_taken_over(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    before = SystemUser(nobody.pw_uid, nobody.pw_gid, dropped=True)
    outside = tmp_path / "of-root"
    outside.write_text("")
    old = EmbeddedServers(tmp_path, postgres_options=FAST)
    old.postgres.account = old.redis.account = before
    try:
        with psycopg.connect(old.start_postgres()) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS x")
        old.start_redis()
    finally:
        old.stop()
    (tmp_path / "redis" / "link").symlink_to(outside)
    new = EmbeddedServers(tmp_path, postgres_options=FAST)
    try:
        with psycopg.connect(new.start_postgres()) as connection:
            assert connection.execute("SELECT x FROM kept").fetchone() == (7,)
        new.start_redis()
        assert (tmp_path / "postgres/data").stat().st_uid == pwd.getpwnam("foretell-servers").pw_uid
        assert outside.stat().st_uid == 0
    finally:
        new.stop()


@as_root
def test_without_a_new_user_servers_run_as_nobody_and_log_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    refusing = tmp_path / "useradd"
    refusing.write_text("#!/bin/sh\necho 'read-only file system' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(system_user, "NAME", "foretell-absent")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert SystemUser.for_servers().uid == pwd.getpwnam("nobody").pw_uid
    assert "read-only file system" in caplog.text
    assert "create the user foretell-absent" in caplog.text


def test_a_process_that_ends_at_once_is_restarted_with_growing_waits(tmp_path: Path) -> None:
    said: list[str] = []
    service = Service(
        name="web",
        command=["/bin/sh", "-c", "echo out of paper; exit 3"],
        log=tmp_path / "web.log",
        environment={},
        on_parent_death=signal.SIGKILL,
        stop_steps=((signal.SIGTERM, 1.0),),
        cwd=tmp_path,
    )
    service.start()

    def restarted_twice() -> bool:
        service.check(said.append)
        return len(said) == 3

    began = time.monotonic()
    wait_until(restarted_twice, 300, "the third end of the process is reported")
    assert time.monotonic() - began >= 1, "the second restart waits"
    assert "exit status 3" in said[0]
    assert " in " not in said[0].partition("restarting it")[2], "at once"
    assert "restarting it in 1 s" in said[1]
    assert "restarting it in 2 s" in said[2]
    assert "out of paper" in said[1], "the reason is shown"


@pytest.mark.parametrize("name", ["postgres", "redis"])
def test_a_server_that_is_killed_again_while_it_starts_is_restarted(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = EmbeddedServers(tmp_path, postgres_options=FAST)
    server = servers.postgres if name == "postgres" else servers.redis
    ready, kills, said = server.ready, iter([True, True]), []

    def killed_before_it_is_ready() -> bool:
        assert server.child is not None
        if next(kills, False):
            server.child.kill()
            server.child.wait()
            return False
        return ready()

    try:
        server.start()
        watched = WatchedServer(name, server)
        monkeypatch.setattr(server, "ready", killed_before_it_is_ready)
        assert server.child is not None
        server.child.kill()
        server.child.wait()

        def restarted() -> bool:
            watched.check(said.append)
            return watched.running()

        wait_until(restarted, 300, f"{name} runs again")
        assert next(kills, None) is None, "both starts were killed"
        assert [line for line in said if "Trying again in 1 s" in line]
        assert [line for line in said if "Trying again in 2 s" in line]
        assert not list(tmp_path.glob("redis-damaged-*")), (
            "the data of a server that was killed isn't damaged"
        )
    finally:
        servers.stop()
