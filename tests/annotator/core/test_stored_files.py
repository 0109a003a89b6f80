"""Files that no row names go; a file appears under its name only when it is complete."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from annotator.core.stored_files import file_store_whole, orphans_delete
from annotator.models import Export
from annotator.services.exports import exports_sweep
from tests.factories import make_study, make_user


def test_a_file_that_is_stored_whole_replaces_an_earlier_one(stored_files: Path) -> None:
    for content in (b"one", b"two"):
        file_store_whole("a/b.json", content)
        assert (stored_files / "a" / "b.json").read_bytes() == content
    assert [path.name for path in (stored_files / "a").iterdir()] == ["b.json"]
    assert orphans_delete("nowhere", known=lambda names: names) == []


@pytest.mark.django_db
def test_exports_that_a_killed_worker_left_go_after_an_hour(stored_files: Path) -> None:
    folder = stored_files / "exports"
    folder.mkdir()
    for name in ("known.gz", "half.gz", "new.gz"):
        (folder / name).write_bytes(b"x")
        at = time.time() - (0 if name == "new.gz" else 7200)
        os.utime(folder / name, (at, at))
    Export.objects.create(
        study=make_study(), created_by=make_user(), format="csv", state="done", file="exports/known.gz"
    )
    exports_sweep()
    assert sorted(path.name for path in folder.iterdir()) == ["known.gz", "new.gz"]
