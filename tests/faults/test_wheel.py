"""The wheel alone, in an empty environment: from the first page to a report, and what needs no server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from foretell import env
from tests.foretell.env_names import names_read
from tests.installation import Installation

pytestmark = pytest.mark.fault
RATINGS = "who,item,label\n" + "".join(
    f"r{rater},i{item},{'yes' if (item + rater // 2) % 3 else 'no'}\n"
    for rater in range(3)
    for item in range(12)
)


class InstalledWheel:
    """An environment that has nothing but the wheel and the libraries that it depends on."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=env.ROOT, check=True, capture_output=True)
        (self.wheel,) = folder.glob("foretell-*.whl")
        venv = folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
        (packages,) = venv.glob("lib/python*/site-packages")
        with zipfile.ZipFile(self.wheel) as wheel:
            for name in wheel.namelist():
                wheel.extract(name, packages)
        (libraries,) = (path for path in sys.path if path.endswith("site-packages"))
        (packages / "libraries.pth").write_text(f"{libraries}\n")
        self.python = venv / "bin" / "python"

    def environment(self, **settings: str) -> dict[str, str]:
        clean = {key: value for key, value in os.environ.items() if key not in names_read()}
        for name in ("PYTHONPATH", "DJANGO_SETTINGS_MODULE", "XDG_DATA_HOME"):
            clean.pop(name, None)
        return {**clean, "HOME": str(self.home), **settings}

    def __call__(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.python), "-m", "foretell", *arguments],
            cwd=self.home,
            env=self.environment(**settings),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


def material() -> Iterator[dict[str, object]]:
    """Twelve questions about six instances."""
    for number in range(12):
        instance = number % 6
        yield {
            "instance": f"animal-{instance}",
            "question": f"Can animal {instance} fly?",
            "explanation": f"Animals with wings can fly, and animal {instance} has wings. So the answer is yes.",
            "answer": "Yes",
            "follow_up": f"Can animal {instance} fly in year {number}?",
            "real_output": number % 4 > 0,
            "system": "robot",
        }


@pytest.fixture(scope="module")
def foretell(tmp_path_factory: pytest.TempPathFactory) -> InstalledWheel:
    return InstalledWheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def running(foretell: InstalledWheel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """`foretell run`, on data in its own folder."""
    installation = Installation(tmp_path_factory.mktemp("run"))
    installation.command = [str(foretell.python), "-m", "foretell", "run"]
    installation.folder = foretell.home
    installation.settings |= {"DATA_DIR": str(installation.data), "HOME": str(foretell.home)}
    installation.start()
    yield installation
    assert installation.stop() == 0


def test_the_wheel_has_everything_that_is_in_the_packages(foretell: InstalledWheel) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "annotator", "evaluation", "foretell", "templates", "static", "locale"],
        cwd=env.ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    with zipfile.ZipFile(foretell.wheel) as wheel:
        names = set(wheel.namelist())
    moved = ("templates/", "static/", "locale/")
    wanted = {f"foretell/assets/{name}" if name.startswith(moved) else name for name in listed if name}
    assert wanted - names == {"foretell/setup.sh"}
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "docs"))]


def test_agreement_of_a_file_needs_no_database_and_no_settings(foretell: InstalledWheel) -> None:
    (foretell.home / "ratings.csv").write_text(RATINGS)
    done = foretell(
        *("agreement", "ratings.csv", "--rater", "who", "--unit", "item", "--value", "label"),
        DATABASE_URL="postgres://nobody@127.0.0.1:1/none",
    )
    assert done.returncode == 0, done.stderr
    assert "Krippendorff" in done.stdout
    wrong = foretell("agreement", "absent.csv", "--rater", "a", "--unit", "b", "--value", "c")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "absent.csv: No such file or directory" in wrong.stderr
    assert not (foretell.home / ".local").exists(), "nothing is written but by `foretell run`"


def test_the_help_begins_with_what_people_want_first(foretell: InstalledWheel) -> None:
    lines = foretell("--help").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:8]] == [
        "run", "agreement", "metrics", "plan", "hit_type", "reproduce",
    ]  # fmt: skip
    unknown = foretell("agreemnt")
    assert unknown.returncode == 2
    assert "there is no command 'agreemnt'" in unknown.stderr
    assert foretell("--version").stdout == "foretell 0.1.0\n"


def test_a_study_reaches_its_report_and_its_release_is_reproduced(
    foretell: InstalledWheel, running: Installation
) -> None:
    page = urllib.request.urlopen(running.url).read().decode()
    assert "Foretell" in page
    style = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert urllib.request.urlopen(running.url + style).status == 200

    def manage(*arguments: str) -> str:
        done = foretell(*arguments, DATA_DIR=str(running.data))
        assert done.returncode == 0, done.stderr
        return done.stdout

    environment = {"DJANGO_SUPERUSER_PASSWORD": "Owls-hunt-4t-night"}
    made = foretell(
        *("manage", "createsuperuser", "--noinput", "--username", "ada", "--email", "ada@lab.example"),
        DATA_DIR=str(running.data),
        **environment,
    )
    assert made.returncode == 0, made.stderr
    (foretell.home / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in material()))
    manage(
        *("import_material", "owls", "items.jsonl", "--create", "--hit-type", "simulation", "--owner", "ada")
    )
    manage("study", "launch", "owls")
    manage("manage", "rehearse", "owls", "--raters", "12")
    number = manage("report", "owls", "--store").split()[1].rstrip(":")
    archive = foretell.home / "owls.zip"
    manage("release", number, "--output", str(archive))
    checked = foretell("reproduce", str(archive))  # with a database of its own
    assert checked.returncode == 0, checked.stderr
    assert "were reproduced" in checked.stdout
