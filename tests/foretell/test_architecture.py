"""docs/architecture.md names files and functions: each is there."""

from __future__ import annotations

import re

import pytest

from foretell import env

TEXT = (env.ROOT / "docs/architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:annotator|evaluation|foretell|templates)/[\w/.]+)(?:::(\w+))?`", TEXT)))


def test_the_walks_name_enough_to_follow() -> None:
    assert len(NAMED) > 35


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_what_is_named_exists(path: str, name: str) -> None:
    file = env.ROOT / path
    assert file.exists()
    if name:
        source = file.read_text()
        assert re.search(rf"^(?:def |class )?{name}\b", source, re.MULTILINE), "not defined at the top level"


@pytest.mark.parametrize("application", ["annotator", "evaluation"])
def test_nothing_but_djangos_own_names_lies_at_the_top_of_an_application(application: str) -> None:
    found = {path.stem for path in (env.ROOT / application).glob("*.py")}
    assert found <= {"__init__", "apps", "urls", "tasks"}
