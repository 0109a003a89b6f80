from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.models import Item, Study, User
from tests.annotator.services.imports.material_rows import ROW

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    return path


def run(*arguments: Any) -> str:
    from io import StringIO

    out = StringIO()
    call_command("import_material", *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def test_the_command_prints_what_it_wrote(study: Study, file: Path) -> None:
    assert run("owls", file).startswith("Imported 1 item into owls: 1 instance, 1 system, 1 explanation,")
    assert "(1 was there already)" in run("owls", file)
    assert Item.objects.count() == 1


def test_the_command_creates_the_study_on_request(researcher: User, file: Path) -> None:
    with pytest.raises(CommandError, match="no study 'new'"):
        run("new", file)
    with pytest.raises(CommandError, match="--create needs --hit-type"):
        run("new", file, "--create")
    with pytest.raises(CommandError, match="no HIT type 'nonsense'"):
        run("new", file, "--create", "--hit-type", "nonsense")
    with pytest.raises(CommandError, match="no user 'nobody'"):
        run("new", file, "--create", "--hit-type", "toy", "--owner", "nobody")
    run("new", file, "--create", "--hit-type", "toy", "--owner", "rosa")
    assert Study.objects.get(slug="new").memberships.get().user == researcher
    with pytest.raises(CommandError, match="a study of toy, not of simulation"):
        run("new", file, "--hit-type", "simulation")


def test_a_refused_file_leaves_no_new_study(db: None, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n")
    with pytest.raises(CommandError, match=r"bad\.jsonl:1: 'nonsense': is not JSON") as caught:
        run("new", bad, "--create", "--hit-type", "toy")
    assert str(caught.value).endswith("Nothing was imported: 1 fault.")
    assert not Study.objects.exists()


def test_a_dry_run_writes_no_rows(db: None, file: Path) -> None:
    assert run("new", file, "--create", "--hit-type", "toy", "--dry-run").startswith("Would import 1 item ")
    assert not Study.objects.exists()


def test_columns_can_be_mapped_or_set_to_constants(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("q,why,answer,next,cost\nOwls?,Birds.,yes,Ducks?,3\n")
    text = run(
        "owls",
        path,
        "--map",
        "question=q",
        "explanation=why",
        "--map",
        "follow_up=next",
        "--set",
        "system=s1",
    )
    assert "columns not used: cost" in text
    item = Item.objects.select_related("explanation__system").get()
    assert (item.payload["follow_up"], item.explanation.system.name) == ("Ducks?", "s1")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--map", "question"], "expected NAME=VALUE, got 'question'"),
        (["--map", "question=a", "question=b"], "question is given twice"),
        (["--set", "=x"], "expected NAME=VALUE"),
    ],
)
def test_invalid_arguments_are_refused(study: Study, file: Path, arguments: list[str], expected: str) -> None:
    with pytest.raises(CommandError, match=expected):
        run("owls", file, *arguments)


def test_a_missing_file_is_reported(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        run("owls", tmp_path / "nowhere.csv")
    with pytest.raises(CommandError, match="Is a directory"):
        run("owls", tmp_path)
