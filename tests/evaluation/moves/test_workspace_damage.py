"""A damaged, cut or exchanged part of a workspace's backup is named, and nothing is written."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from annotator.models import Workspace
from evaluation.models import WorkspaceRestore
from evaluation.moves import workspace_archive
from evaluation.moves.lines import LinesWriter, lines_read
from evaluation.moves.sealed_file import Key, MoveError, WrongKey
from evaluation.moves.workspace_archive import CONTENTS, backup_check
from evaluation.moves.workspace_restore import workspace_restore
from tests.evaluation.moves.files import KEY
from tests.evaluation.moves.labs import all_rows, backed_up, parts_of

pytestmark = pytest.mark.django_db


def positions(size: int) -> Iterator[int]:
    yield from (
        0,
        3,
        30,
        60,
        100,
        size // 3,
        size // 2,
        size - 2000,
        size - 300,
        size - 100,
        size - 60,
        size - 20,
        size - 1,
    )


def test_a_damaged_file_is_refused_before_anything_is_written(made: Workspace, tmp_path: Path) -> None:
    path = backed_up(made, tmp_path)
    whole, before = path.read_bytes(), all_rows()
    said = []
    for at in positions(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            backup_check(path=path, key=KEY)
        except MoveError as error:
            said.append(str(error))
            with pytest.raises(MoveError):
                workspace_restore(path=path, key=KEY, name="Second")
    assert len(said) >= 10, "but for bytes that nobody reads, such as a date"
    assert any("foretell in the archive) is damaged: its checksum is another" in one for one in said)
    assert any("the study " in one or "the workspace (" in one for one in said)
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(MoveError, match="cut off"):
            workspace_restore(path=path, key=KEY, name="Second")
    path.write_bytes(whole)
    with pytest.raises(WrongKey):
        workspace_restore(path=path, key=Key.of_file(b"k" * 32), name="Second")
    assert all_rows() == before


def test_files_exchanged_between_backups_are_refused(made: Workspace, tmp_path: Path) -> None:
    first, second = backed_up(made, tmp_path), backed_up(made, tmp_path, "later.backup")
    mixed = tmp_path / "mixed.backup"
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as two, zipfile.ZipFile(mixed, "w") as out:
        for name in one.namelist():
            out.writestr(name, (two if name == "studies/0002.foretell" else one).read(name))
    with pytest.raises(MoveError, match=r"the study other-type .*its SHA-256 is another"):
        workspace_restore(path=mixed, key=KEY, name="Second")
    with zipfile.ZipFile(mixed, "a") as out:
        out.writestr("more.foretell", b"")
    with pytest.raises(MoveError, match="aren't those of its table of contents"):
        workspace_restore(path=mixed, key=KEY, name="Second")
    assert not WorkspaceRestore.objects.exists()


def test_a_file_that_this_version_cannot_restore_is_refused_before_anything_is_written(
    made: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr(workspace_archive, "FORMAT", 2)
        path = backed_up(made, tmp_path)
    with pytest.raises(MoveError, match=r"has format 2; this version of Foretell reads format 1"):
        workspace_restore(path=path, key=KEY, name="Second")
    made.studies.filter(slug="draft").update(hit_type="a_package_of_theirs")
    path = backed_up(made, tmp_path, "theirs.backup")
    with pytest.raises(MoveError, match="doesn't have the HIT type a_package_of_theirs; install it first"):
        workspace_restore(path=path, key=KEY, name="Second")
    with zipfile.ZipFile(path) as archive:
        archive.extract("studies/0001.foretell", tmp_path)
    with pytest.raises(MoveError, match="not a file that workspace_backup wrote"):
        workspace_restore(path=tmp_path / "studies/0001.foretell", key=KEY, name="Second")
    assert not WorkspaceRestore.objects.exists()


def forged(path: Path, change: Callable[[Any], object]) -> Path:
    """The backup with another table of contents, by somebody who has the key."""
    made = path.with_name("forged.backup")
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(made, "w") as out:
        for name in archive.namelist()[:-1]:
            out.writestr(name, archive.read(name))
        with archive.open(CONTENTS) as member:
            (contents,) = lines_read(member, KEY)
        change(contents)
        held = io.BytesIO()
        lines = LinesWriter(held, KEY)
        lines.write(contents)
        lines.close()
        out.writestr(CONTENTS, held.getvalue())
    return made


@pytest.mark.parametrize(
    "change",
    [
        lambda contents: contents.pop("id"),
        lambda contents: contents.update(studies=7),
        lambda contents: contents.update(studies=[[]]),
        lambda contents: contents.update(workspace="workspace.foretell"),
        lambda contents: contents.update(without="nothing"),
        lambda contents: contents["studies"][0].pop("slug"),
        lambda contents: contents["studies"][0].update(members=7),
        lambda contents: contents["studies"][0].update(members=[["owner"]]),
        lambda contents: contents["studies"][0].update(members=[[{}, "owner"]]),
        lambda contents: contents["studies"][0].update(bytes="many"),
        lambda contents: contents["studies"][0].update(rows=7),
    ],
)
def test_a_forged_table_of_contents_is_refused_in_words(
    change: Callable[[Any], object], made: Workspace, tmp_path: Path
) -> None:
    path, before = forged(backed_up(made, tmp_path), change), all_rows()
    with pytest.raises(MoveError, match="it lacks something that every table of contents has"):
        workspace_restore(path=path, key=KEY, name="Second")
    assert all_rows() == before


@pytest.mark.parametrize("name", [" \t ", "x" * 101])
def test_a_name_that_no_workspace_can_have_is_refused(name: str, made: Workspace, tmp_path: Path) -> None:
    path = backed_up(made, tmp_path)
    with pytest.raises(MoveError, match=r"(blank|at most 100 characters)"):
        workspace_restore(path=path, key=KEY, name=name)
    assert not WorkspaceRestore.objects.exists()


def test_the_file_tells_nothing_without_the_key(made: Workspace, tmp_path: Path) -> None:
    path = backed_up(made, tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    content = path.read_bytes()
    for secret in (b"Owls", b"worked", b"ann@people.example", b"the sealed token"):
        assert secret not in content
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert names == [
        "workspace.foretell",
        *(f"studies/{n:04}.foretell" for n in range(1, 7)),
        "contents.foretell",
    ]
    plain = repr(parts_of(path))
    for secret in ("the sealed token", "LAB_SECRET_KEY", "hidden-header", "a sealed secret", "pbkdf2"):
        assert secret not in plain
