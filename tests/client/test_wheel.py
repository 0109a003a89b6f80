"""The client's wheel, alone: it holds its types, needs one library, and works without Foretell beside it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from foretell import env

ALONE = """
import sys
import foretell_client
assert foretell_client.__file__.startswith(sys.argv[1]), foretell_client.__file__
assert not {"django", "annotator", "evaluation", "pandas"} & set(sys.modules)
print(foretell_client.Foretell("https://lab.example", "0123"))
"""


def test_the_wheel_works_alone(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=env.ROOT / "clients/python", check=True, capture_output=True)
    (wheel,) = tmp_path.glob("foretell_client-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        needs = [
            line for line in archive.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")
        ]
        for name in names:
            archive.extract(name, tmp_path / "installed")
    assert {"foretell_client/py.typed", "foretell_client/operations/studies.py"} <= names
    assert not [name for name in names if "generate" in name or "test" in name]
    assert needs == ["Requires-Dist: httpx2<3,>=2.12"]
    (libraries,) = (path for path in sys.path if path.endswith("site-packages"))
    done = subprocess.run(
        [sys.executable, "-S", "-c", ALONE, str(tmp_path / "installed")],
        env={"PYTHONPATH": f"{tmp_path / 'installed'}:{libraries}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "Foretell('https://lab.example')\n"
