"""``foretell/setup.sh`` on machines that lack programs (simulated through PATH)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from foretell import env

TOOLS = ("sh", "cmp", "cp", "dirname", "id", "mkdir", "chmod")
#: A fake python: `-m venv` copies it into .venv, and calls of pip are recorded.
PYTHON = """\
case "$*" in
*"-m venv"*) mkdir -p .venv/bin; cp "$0" .venv/bin/python; chmod +x .venv/bin/python;;
*"-m pip"*) shift 2; echo "$*" >> pip-calls; [ ! -e pip-fails ] || exit 1;;
*"import sys,pip"*) [ -e .venv/bin/python ];;
*print*) echo 3.11;;
esac"""


class Machine:
    """A checkout on a machine that has only the tools in ``TOOLS``."""

    def __init__(self, root: Path) -> None:
        self.root, self.bin, self.system = root / "checkout", root / "bin", root / "usr" / "bin"
        (self.root / "foretell").mkdir(parents=True)
        self.bin.mkdir()
        self.system.mkdir(parents=True)
        shutil.copy(env.ROOT / "foretell" / "setup.sh", self.root / "foretell")
        (self.root / "requirements.lock").write_text("# nothing to install\n")
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found
            (self.bin / tool).symlink_to(found)

    def program(self, name: str, script: str, *, system: bool = False) -> None:
        path = (self.system if system else self.bin) / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def pip_calls(self) -> list[str]:
        return (self.root / "pip-calls").read_text().splitlines()

    def setup(self, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["foretell/setup.sh", "requirements.lock"],
            cwd=self.root,
            env={"PATH": str(self.bin), "SYSTEM_BIN": str(self.system), **settings},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_python_the_error_names_the_version(machine: Machine) -> None:
    done = machine.setup()
    assert done.returncode != 0
    assert "needs Python 3.11 or later" in done.stderr
    assert not (machine.root / ".venv").exists()


def test_an_old_python_is_not_used(machine: Machine) -> None:
    machine.program("python3", 'case "$*" in *version_info*) exit 1;; esac; exit 0')
    assert "needs Python 3.11 or later" in machine.setup().stderr


def test_the_systems_own_python_is_used_first_if_it_can_make_environments(machine: Machine) -> None:
    machine.program("python3.12", PYTHON)
    machine.program("python3.11", PYTHON, system=True)
    assert f"creating .venv with {machine.system}/python3.11" in machine.setup().stdout

    (machine.root / ".venv" / "bin" / "python").unlink()
    machine.program("python3.11", f'case "$*" in *ensurepip*) exit 1;; esac\n{PYTHON}', system=True)
    assert f"creating .venv with {machine.bin}/python3.12" in machine.setup().stdout


def test_a_system_python_of_no_named_version_is_not_even_started(machine: Machine) -> None:
    """On a Mac without developer tools, /usr/bin/python3 opens a window."""
    machine.program("python3", "touch window", system=True)
    machine.program("python3.11", PYTHON)
    assert f"creating .venv with {machine.bin}/python3.11" in machine.setup().stdout
    assert not (machine.root / "window").exists()


def test_a_chosen_python_is_used(machine: Machine) -> None:
    machine.program("python3.11", PYTHON, system=True)
    machine.program("mine", PYTHON)
    assert f"creating .venv with {machine.bin}/mine" in machine.setup(PYTHON="mine").stdout


def test_without_venv_the_error_names_the_package(machine: Machine) -> None:
    machine.program(
        "python3", 'case "$*" in *"-m venv"*) exit 1;; *print*) echo 3.11; exit 0;; *) exit 0;; esac'
    )
    done = machine.setup()
    assert done.returncode != 0
    assert "apt install python3.11-venv" in done.stderr


def test_root_on_debian_installs_the_venv_package(machine: Machine) -> None:
    machine.program("id", "echo 0")
    machine.program("apt-get", 'echo "$*" >> apt; : > venv-installed')
    machine.program(
        "python3", f"[ -e venv-installed ] || case \"$*\" in *'-m venv'*) exit 1;; esac\n{PYTHON}"
    )
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "install -y -qq python3.11-venv" in (machine.root / "apt").read_text()
    assert (machine.root / ".venv" / "bin" / "python").exists()


def test_only_a_changed_lock_is_installed_again(machine: Machine) -> None:
    machine.program("python3", PYTHON)
    assert "installing requirements.lock" in machine.setup().stdout
    assert machine.pip_calls() == ["install -qq --no-deps --require-hashes -r requirements.lock"]
    assert machine.setup().stdout == ""
    (machine.root / "requirements.lock").write_text("# something else\n")
    assert "installing requirements.lock" in machine.setup().stdout
    assert len(machine.pip_calls()) == 2


def test_a_failed_installation_is_repeated(machine: Machine) -> None:
    machine.program("python3", PYTHON)
    (machine.root / "pip-fails").touch()
    assert machine.setup().returncode != 0
    (machine.root / "pip-fails").unlink()
    assert machine.setup().returncode == 0
    assert len(machine.pip_calls()) == 2


UV = """\
echo "$*" >> uv-calls
case "$*" in
venv*) mkdir -p .venv/bin; cp "$(command -v python3)" .venv/bin/python;;
*) [ ! -e uv-fails ] || exit 1;;
esac"""


def test_uv_is_used_where_it_is_installed(machine: Machine) -> None:
    machine.program("python3", PYTHON)
    machine.program("uv", UV)
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "installing requirements.lock with uv" in done.stdout
    calls = (machine.root / "uv-calls").read_text().splitlines()
    assert calls[-1] == (
        "pip install --quiet --python .venv/bin/python --no-deps --require-hashes -r requirements.lock"
    )
    assert not (machine.root / "pip-calls").exists()
    assert machine.setup().stdout == ""


def test_pip_installs_when_uv_fails(machine: Machine) -> None:
    machine.program("python3", PYTHON)
    machine.program("uv", UV)
    (machine.root / "uv-fails").touch()
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "uv failed; trying pip" in done.stderr
    assert len(machine.pip_calls()) == 1
