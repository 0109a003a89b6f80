"""docs/declare-a-hit-type.md: its files are right, and its commands print what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command

from annotator.hit_types.declaration.questionnaire import questionnaires_version
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.services.study_templates import declared_templates
from annotator.services.workspace import workspace_create
from foretell import env
from foretell.cli import main
from tests.annotator.hit_types.declaration.files import GALLERY_FILES
from tests.factories import make_user

GUIDE = (env.ROOT / "docs" / "declare-a-hit-type.md").read_text(encoding="utf-8")
FIRST, MORE = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
(QUESTIONNAIRE,) = re.findall(r"```text\n(foretell_questionnaire.*?)```", GUIDE, re.DOTALL)
SAID = [block.split("\n", 1) for block in re.findall(r"```console\n\$ foretell (.*?)```", GUIDE, re.DOTALL)]


def test_the_steps_print_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    one_mistake = FIRST.replace("clear: no}", "clear: nein}")
    files = [FIRST, one_mistake.replace("kind: choice", "kind: chioce"), one_mistake]
    for text, (command, output) in zip(files, SAID[:3], strict=True):
        Path("clarity.yaml").write_text(text, encoding="utf-8")
        assert main(command.split()) == (0 if text is FIRST else 1)
        version = hit_type_read(FIRST).version
        assert capsys.readouterr().out == output.replace("VERSION", str(version))


@pytest.mark.django_db
def test_the_file_is_saved_in_a_workspace_as_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ada = make_user("ada", staff=True)
    workspace_create(by=ada, name="Our lab")
    Path("clarity.yaml").write_text(FIRST + "\n" + MORE, encoding="utf-8")
    ((command, output),) = SAID[3:4]
    call_command(*shlex.split(command))
    assert capsys.readouterr().out == output.replace("VERSION", hit_type_read(FIRST + "\n" + MORE).version)
    (template,) = declared_templates(user=ada)
    assert template.title == "Clarity of sentences"


@pytest.mark.django_db
def test_the_questionnaire_is_checked_and_saved_as_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    workspace_create(by=make_user("ada", staff=True), name="Our lab")
    Path("reading.yaml").write_text(QUESTIONNAIRE, encoding="utf-8")
    # One block with both commands, each followed by what it prints.
    ((check, rest),) = SAID[4:]
    checked, imported = rest.split("$ foretell ")
    version = questionnaires_version(QUESTIONNAIRE)
    for command, output in ((check, checked), imported.split("\n", 1)):
        call_command(*shlex.split(command))
        assert capsys.readouterr().out == output.replace("VERSION", version)


def test_the_whole_file_teaches_and_examines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clarity.yaml").write_text(FIRST + "\n" + MORE, encoding="utf-8")
    assert main(["hit_type", "show", "clarity.yaml"]) == 0
    shown = capsys.readouterr().out
    for text in (
        "why: What makes it hard to read? (if clear is no)",
        "ANSWER: NO",
        "clear (nominal): yes, no",
    ):
        assert text in shown
    kind = hit_type_read(FIRST + "\n" + MORE)
    assert (len(kind.exam), len(kind.practice), kind.defaults.pass_mark) == (2, 1, 1)
    assert "A wrong start" in kind.instructions
    assert [message.role for message in kind.prompt(kind.exam[0].payload)].count("assistant") == 2


def test_files_that_cannot_be_read_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hit_type", "check", "nowhere.yaml"]) == 1
    assert "nowhere.yaml: No such file or directory" in capsys.readouterr().err


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hit_type", "schema"]) == 0
    assert '"A HIT type of Foretell"' in capsys.readouterr().out


def test_the_guide_lists_the_gallery() -> None:
    assert re.findall(r"^\| `(\w+\.yaml)` \|", GUIDE, re.MULTILINE) != []
    assert set(re.findall(r"^\| `(\w+\.yaml)` \|", GUIDE, re.MULTILINE)) == {
        file.name for file in GALLERY_FILES
    }
