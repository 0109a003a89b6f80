"""A new folder is a new type; a faulty folder is an error that names it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

import annotator.hit_types
from annotator.hit_types.declaration.gallery import GALLERY
from annotator.hit_types.registry import HIT_TYPES, hit_type_get, hit_types

MODULE = """
from annotator.hit_types.base import (
    ITEM_COLUMNS, Block, Column, Defaults, Field, HitType, Material, Option, Rating, Row, Stage, Variable,
    YES_NO_LABELS, read_answer, stable_key, write_answer,
)

CLEAR = Field("clear", "Is the sentence clear?", options=(Option("yes", "Yes"), Option("no", "No")))


class Clarity(HitType):
    name = "clarity"
    title = "Clarity of a sentence"
    task_title = "Is it clear?"
    source = "a test"
    variables = (Variable("clear", "Clear", labels=("yes", "no")),)
    columns = (Column("sentence", "The sentence"), *ITEM_COLUMNS)
    defaults = Defaults(exam_questions=1, pass_mark=1)
    headline = "clear"

    def parse_item(self, raw):
        row = Row(raw)
        text = row.text("sentence")
        return self.draft(row, {"sentence": text}, Material(stable_key(text), text))

    def stages(self, payload, presentation=None):
        return (Stage("clear", "Is it clear?", (Block("sentence", "Sentence", payload["sentence"]),), (CLEAR,)),)

    def to_ratings(self, payload, response):
        return [Rating("clear", response["clear"])]

    def parse_reply(self, text, payload, stage=0, presentation=None):
        return {"clear": read_answer(text, YES_NO_LABELS)}

    def write_reply(self, payload, response, stage=0, presentation=None):
        return write_answer(response["clear"])
"""
PROMPT = "## system\nIs it clear? End with ANSWER: YES or ANSWER: NO.\n## user\n$sentence\n"
QUESTION = (
    '[{"key": "a", "payload": {"sentence": "It rains."}, "gold": {"clear": "yes"}, "reason": "It is."}]'
)


@pytest.fixture
def drop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Puts a folder with a type beside the product's own, for one test."""
    monkeypatch.setattr(annotator.hit_types, "__path__", [*annotator.hit_types.__path__, str(tmp_path)])
    HIT_TYPES.forget()

    def make(name: str, module: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "hit_type.py").write_text(module)
        (folder / "prompt.md").write_text(PROMPT)
        (folder / "instructions.md").write_text("## Your task\nRead.\n")
        (folder / "exam.json").write_text(QUESTION)
        (folder / "practice.json").write_text(QUESTION)
        return folder

    yield make
    HIT_TYPES.forget()
    for name in [n for n in sys.modules if n.startswith("annotator.hit_types.clarity")]:
        del sys.modules[name]
    if hasattr(annotator.hit_types, "clarity"):
        delattr(annotator.hit_types, "clarity")


def test_a_new_folder_is_a_new_type(drop: Callable[..., Path]) -> None:
    before = set(hit_types())
    HIT_TYPES.forget()
    folder = drop("clarity", MODULE)
    assert set(hit_types()) == before | {"clarity"}
    kind = hit_type_get("clarity")
    item = kind.parse_item({"sentence": "Colourless green ideas sleep.", "gold": {"clear": "no"}})
    assert item.payload == {"sentence": "Colourless green ideas sleep."}
    assert item.gold == {"clear": "no"}
    assert kind.stages(item.payload)[0].blocks[0].text == item.payload["sentence"]
    assert kind.prompt(item.payload)[-1].content == item.payload["sentence"]
    response = kind.parse_response(
        item.payload, kind.parse_reply(kind.write_reply(item.payload, {"clear": "no"}), item.payload)
    )
    assert kind.grade(response, item.gold).passed
    assert [r.value for r in kind.to_ratings(item.payload, response)] == ["no"]
    assert kind.describe(item.payload, response) == [("Is the sentence clear?", "No")]
    assert kind.exam[0].gold == kind.practice[0].gold == {"clear": "yes"}
    assert kind.present(item.payload, Random(1)) == {}
    shutil.rmtree(folder)
    HIT_TYPES.forget()
    assert set(hit_types()) == before


def test_a_folder_without_a_type_file_is_ignored(drop: Callable[..., Path]) -> None:
    (drop("clarity", MODULE) / "hit_type.py").unlink()
    assert "clarity" not in hit_types()


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (MODULE.replace('name = "clarity"', 'name = "clearness"'), "must be named .clarity."),
        ("", "exactly one HitType, found none"),
        (
            MODULE + "\n\nclass Other(Clarity):\n    name = 'other'\n",
            "exactly one HitType, found Clarity, Other",
        ),
    ],
)
def test_an_error_names_the_faulty_folder(drop: Callable[..., Path], module: str, says: str) -> None:
    folder = drop("clarity", module)
    with pytest.raises(ImportError, match=says) as error:
        hit_types()
    assert str(folder) in str(error.value)


def test_two_types_with_the_same_name_are_refused(drop: Callable[..., Path]) -> None:
    folder = drop("simulation", MODULE)
    with pytest.raises(ImportError, match="two members named 'simulation'"):
        hit_types()
    assert folder.is_dir()


def test_the_error_about_an_unknown_type_lists_the_known_ones() -> None:
    with pytest.raises(KeyError, match=r"no HIT type 'riddles'; expected one of: .*simulation"):
        hit_type_get("riddles")


def test_a_file_of_the_gallery_is_a_type_and_a_faulty_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = GALLERY / "pairwise_preference.yaml"
    assert hit_type_get(file.stem).title in file.read_text(encoding="utf-8")
    monkeypatch.setattr("annotator.hit_types.declaration.gallery.GALLERY", tmp_path)
    (tmp_path / "pairs.yaml").write_text("foretell_hit_type: 1\n", encoding="utf-8")
    HIT_TYPES.forget()
    try:
        with pytest.raises(ImportError, match=r"pairs\.yaml: line 1: name is missing"):
            hit_type_get("pairs")
        (tmp_path / "pairs.yaml").write_bytes(file.read_bytes())
        with pytest.raises(ImportError, match="must be named 'pairs', as its file is"):
            hit_type_get("pairs")
    finally:
        HIT_TYPES.forget()
