"""A file is a member; what is wrong with it is said with its place."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from annotator.core import registry
from annotator.core.registry import Registry, UnknownMember

CONTRACT = """
from abc import ABC, abstractmethod

class Greeting(ABC):
    name: str

    @abstractmethod
    def words(self) -> str: ...
"""
MEMBER = """
from greetings._contract import Greeting

class {kind}(Greeting):
    name = "{name}"

    def words(self) -> str:
        return "{words}"
"""


@pytest.fixture
def greetings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "greetings"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "_contract.py").write_text(CONTRACT)
    (folder / "hello.py").write_text(MEMBER.format(kind="Hello", name="hello", words="Hello"))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "greetings"]:
        del sys.modules[name]


def kinds() -> Registry:
    from greetings._contract import Greeting  # type: ignore[import-not-found]

    return Registry(Greeting, noun="greeting", package="greetings", group="foretell.greetings")


def test_a_file_is_a_member_and_is_imported_when_it_is_first_used(greetings: Path) -> None:
    (greetings / "bye.py").write_text(MEMBER.format(kind="Bye", name="bye", words="Bye"))
    found = kinds()
    assert found.names() == ["bye", "hello"]
    assert "greetings.bye" not in sys.modules
    assert found.get("bye").words() == "Bye"
    assert "greetings.hello" not in sys.modules
    assert [member.words() for member in found] == ["Bye", "Hello"]
    assert found.get("bye") is found.get("bye")


def test_an_unknown_name_lists_the_known_ones(greetings: Path) -> None:
    with pytest.raises(UnknownMember) as error:
        kinds().get("salve")
    assert str(error.value) == "no greeting 'salve'; expected one of: hello"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected exactly one Greeting, found none"),
        (MEMBER.format(kind="A", name="bye", words="a") + MEMBER.format(kind="B", name="bye", words="b"), "found A, B"),
        (MEMBER.format(kind="A", name="farewell", words="a"), "'farewell' must be named 'bye'"),
    ],
)  # fmt: skip
def test_a_faulty_file_is_named(greetings: Path, text: str, says: str) -> None:
    (greetings / "bye.py").write_text(text)
    with pytest.raises(ImportError, match=says) as error:
        kinds().get("bye")
    assert "bye" in str(error.value)


def test_a_base_that_cannot_be_made_is_no_member(greetings: Path) -> None:
    text = MEMBER.format(kind="Bye", name="bye", words="Bye")
    base = "\nclass Polite(Greeting, __import__('abc').ABC):\n    @__import__('abc').abstractmethod\n    def title(self): ...\n"
    (greetings / "bye.py").write_text(text + base)
    assert kinds().get("bye").words() == "Bye"


def test_an_installed_package_adds_a_member(greetings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (greetings / "_elsewhere.py").write_text(MEMBER.format(kind="Salve", name="salve", words="Salve"))
    points = [EntryPoint("salve", "greetings._elsewhere:Salve", "foretell.greetings")]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: [p for p in points if p.group == group])
    assert kinds().names() == ["hello", "salve"]
    assert kinds().get("salve").words() == "Salve"
    points[0] = EntryPoint("hello", "greetings._elsewhere:Salve", "foretell.greetings")
    with pytest.raises(ImportError, match="there is already a greeting named 'hello'"):
        kinds().names()


def test_a_test_can_add_a_member_for_a_while() -> None:
    class Base(ABC):
        name = "base"

        @abstractmethod
        def words(self) -> str: ...

    class One(Base):
        name = "one"

        def words(self) -> str:
            return "1"

    numbers: Registry[Base] = Registry(
        Base, noun="number", package="tests.annotator.core", module="none", group="x"
    )
    with numbers.including(One()) as one:
        assert numbers.get("one") is one
        with pytest.raises(ValueError, match="already"), numbers.including(One()):
            pass
    assert "one" not in numbers
