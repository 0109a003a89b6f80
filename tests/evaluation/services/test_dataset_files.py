"""Files of questions in the forms that spreadsheets and scripts save them in."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from annotator.core.tables.faults import FileRefused
from annotator.models import Dataset
from evaluation.services.dataset import dataset_load

pytestmark = pytest.mark.django_db
TEXT = "qid;question;answer\nq1;Können Eulen fliegen?;yes\nq2;Können Enten tauchen?;no\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", TEXT.encode()),
        ("q.csv", TEXT.encode("utf-8-sig")),
        ("q.csv", TEXT.replace("\n", "\r\n").encode("utf-16")),
        ("q.tsv", TEXT.replace(";", "\t").encode()),
        ("q.csv.gz", gzip.compress(TEXT.replace(";", ",").encode(), mtime=0)),
        ("q.CSV", TEXT.replace(";", ",").encode()),
    ],
)
def test_a_file_of_questions_is_read_however_it_was_saved(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    dataset, new = dataset_load(name="d", path=path, task="yes_no")
    assert new == 2
    assert dataset.instances.get(key="q1").input == "Können Eulen fliegen?"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.csv", TEXT.encode("latin-1"), ":2: .*is not UTF-8 at byte 5 of the line; save the file as UTF-8"),
        ("q.pdf", b"%PDF-1.4", "expected a file ending in"),
        ("q.csv", b"%PDF-1.4", "is a PDF"),
        ("q.parquet", b"PAR1", "is not a readable Parquet file"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_to_do(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileRefused, match=said):
        dataset_load(name="d", path=path, task="yes_no")
    assert not Dataset.objects.exists()
