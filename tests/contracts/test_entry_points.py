"""A HIT type from an installed package is a member like any other: it fulfils the same contract."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from annotator.core import registry
from annotator.hit_types.base import HitType
from annotator.hit_types.registry import HIT_TYPES, hit_type_get, hit_types
from tests.contracts import test_hit_type_prompts, test_hit_type_questions, test_hit_types
from tests.new_type import FILES, GUIDE

CHECKS = [
    pytest.param(check, id=name)
    for module in (test_hit_types, test_hit_type_questions, test_hit_type_prompts)
    for name, check in vars(module).items()
    if name.startswith("test_")
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HitType]:
    """The guide's type in a package outside the product, offered by an entry point."""
    root = tmp_path_factory.mktemp("installed")
    for name, _, content in FILES.findall(GUIDE.read_text(encoding="utf-8")):
        path: Path = root / "clear_sentences" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    point = EntryPoint("clarity", "clear_sentences.hit_type:Clarity", HIT_TYPES.group)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        patch.setattr(registry, "entry_points", lambda *, group: [point] if group == point.group else [])
        HIT_TYPES.forget()
        yield hit_type_get("clarity")
    HIT_TYPES.forget()
    for name in [name for name in sys.modules if name.startswith("clear_sentences")]:
        del sys.modules[name]


def test_the_registry_lists_a_type_from_an_entry_point(installed: HitType) -> None:
    assert hit_types()["clarity"] is installed
    assert installed.folder.name == "clear_sentences"


@pytest.mark.parametrize("check", CHECKS)
def test_a_type_from_an_entry_point_fulfils_the_contract(check: object, installed: HitType) -> None:
    check(installed)  # type: ignore[operator]
