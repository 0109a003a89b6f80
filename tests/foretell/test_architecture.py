"""Every file and function that docs/architecture.md names exists."""

from __future__ import annotations

import re

import pytest

from foretell import env

TEXT = (env.ROOT / "docs/architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:annotator|evaluation|foretell|templates)/[\w/.]+)(?:::(\w+))?`", TEXT)))


def test_the_walks_name_enough_files() -> None:
    assert len(NAMED) > 35


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_named_files_and_functions_exist(path: str, name: str) -> None:
    file = env.ROOT / path
    assert file.exists()
    if name:
        source = file.read_text()
        assert re.search(rf"^(?:def |class )?{name}\b", source, re.MULTILINE), "not defined at the top level"


@pytest.mark.parametrize("application", ["annotator", "evaluation"])
def test_an_application_has_only_djangos_own_module_names_at_the_top(application: str) -> None:
    found = {path.stem for path in (env.ROOT / application).glob("*.py")}
    assert found <= {"__init__", "apps", "urls", "tasks"}
