"""Files of questions in the forms that spreadsheets and scripts save them in."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from annotator.core.tables.faults import FileRefused
from annotator.models import Dataset
from evaluation.models import InstancePart
from evaluation.selectors.material import part_by_key, parts_of
from evaluation.services.dataset import PARTS, dataset_load

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


def parts(dataset: Dataset) -> dict[str, str]:
    keys = dict(dataset.instances.values_list("pk", "key"))
    return {keys[pk]: part for pk, part in parts_of(dataset).items()}


def test_the_parts_are_those_that_the_file_names(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    named = {f"q{n}": name for n, name in enumerate(PARTS)}
    rows = [f"{key},Is {key} right?,yes,{name.title()}" for key, name in named.items()]
    path.write_text("\n".join(["qid,question,answer,split", *rows]))
    dataset, _ = dataset_load(name="d", path=path, task="yes_no")
    assert parts(dataset) == {key: PARTS[name] for key, name in named.items()}
    assert {part_by_key(key) for key in named} != set(parts(dataset).values())  # keys alone would differ
    assert dataset_load(name="d", path=path, task="yes_no")[1] == 0  # the same file again

    path.write_text("\n".join(["qid,question,answer,part", rows[0].replace("Train", "test")]))
    with pytest.raises(FileRefused, match="part: 'test': the dataset 'd' has this key in the train part"):
        dataset_load(name="d", path=path, task="yes_no")


def test_without_a_column_the_parts_depend_on_the_key(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("\n".join(["qid,question", *(f"q{n},Is {n} even?" for n in range(40))]))
    dataset, _ = dataset_load(name="d", path=path, task="yes_no")
    assert parts(dataset) == {f"q{n}": part_by_key(f"q{n}") for n in range(40)}
    assert set(parts(dataset).values()) == {"train", "validation", "test"}


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("holdout", ":3: part: expected train, validation or test, got 'holdout'"),
        ("", ":3: part: is missing"),
    ],
)
def test_a_part_that_is_unknown_or_missing_is_refused(second: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text(f"qid,question,part\nq1,Do owls fly?,train\nq2,Do ducks dive?,{second}\n")
    with pytest.raises(FileRefused, match=said):
        dataset_load(name="d", path=path, task="yes_no")
    assert not InstancePart.objects.exists()
