"""Datasets for pipelines: read instances from a file, all or nothing. Every fault names its line."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.db import transaction

from annotator.core.canonical import text_digest
from annotator.core.plain_file import UnreadableFile, plain_file
from annotator.hit_types.base import FieldErrors, clean_text
from annotator.models import Dataset, Instance, User, Workspace
from evaluation.prompts.replies import answer_of

#: Field -> the names that published data sets use for it.
NAMES = {
    "key": ("key", "qid", "id", "instance"),
    "input": ("input", "question", "document", "article", "query"),
    "gold_label": ("gold_label", "answer", "label"),
    "gold_rationale": ("gold_rationale", "rationale", "facts", "explanation"),
}
LONGEST = 100_000
#: The letters of the answers to a multiple-choice question.
LETTERS = "ABCDEFGH"
#: The largest file in bytes; files are read whole.
LARGEST = 100_000_000


class DatasetFaults(ValueError):
    """The faults of a file, one per line of the message."""

    def __init__(self, faults: list[str]):
        self.faults = faults
        shown = "\n".join(faults[:50])
        super().__init__(shown + (f"\n... and {len(faults) - 50} more" if len(faults) > 50 else ""))


@transaction.atomic
def dataset_load(
    *, name: str, path: Path, task: str, workspace: Workspace | None = None, limit: int | None = None
) -> tuple[Dataset, int]:
    """Read JSON lines, a JSON array, CSV or Excel into a dataset of the workspace; returns the dataset and how
    many instances are new.

    An instance whose key is in the dataset already must be the same. Raises ``DatasetFaults``; then nothing is written.
    For preferences, a row has ``context``, ``response_1`` and ``response_2``; for multiple choice, ``options``.
    """
    rows = _read(path, task, limit)
    dataset, _ = Dataset.objects.get_or_create(workspace=workspace, name=name)
    there = {instance.key: instance for instance in dataset.instances.filter(key__in=rows)}
    faults = [
        f"{path.name}: {key}: the dataset {name!r} has this key with different content"
        for key, old in there.items()
        if (old.input, old.gold_label) != (rows[key].input, rows[key].gold_label)
    ]
    if faults:
        raise DatasetFaults(faults)
    new = [row for key, row in rows.items() if key not in there]
    for row in new:
        row.dataset = dataset
    Instance.objects.bulk_create(new)
    return dataset, len(new)


def dataset_upload(
    *, file: IO[bytes], name: str, task: str, user: User, workspace: Workspace, limit: int | None = None
) -> Dataset:
    """Read an uploaded file into a new dataset, named after its owner, the file and its content.

    Uploading the same file again gives the same dataset. Raises ``DatasetFaults``.
    """
    with _kept(file, name) as path:
        digest = hashlib.sha256(f"{task}:{limit}:".encode())
        digest.update(path.read_bytes())
        own = f"{user.get_username()[:60]}: {path.stem[:100]} · {digest.hexdigest()[:8]}"
        return dataset_load(name=own, path=path, task=task, workspace=workspace, limit=limit)[0]


def dataset_check(*, file: IO[bytes], name: str, task: str, limit: int | None = None) -> list[str]:
    """The keys of the instances in an uploaded file, without writing; raises ``DatasetFaults``."""
    with _kept(file, name) as path:
        return list(_read(path, task, limit))


def dataset_inputs(*, path: Path, task: str, limit: int | None = None) -> list[str]:
    """The inputs of the instances in a file; nothing is written. Raises ``DatasetFaults``."""
    return [instance.input for instance in _read(path, task, limit).values()]


@contextmanager
def _kept(file: IO[bytes], name: str) -> Iterator[Path]:
    """The upload as a file on disk; the upload itself can be read again afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (Path(name).name or "upload")
        file.seek(0)
        with path.open("wb") as kept:
            while piece := file.read(1 << 20):
                kept.write(piece)
        file.seek(0)
        yield path


def _read(path: Path, task: str, limit: int | None) -> dict[str, Instance]:
    """Key -> unsaved instance without a dataset; raises ``DatasetFaults``."""
    faults: list[str] = []
    rows: dict[str, Instance] = {}
    for line, raw in _rows(path, faults):
        if limit is not None and len(rows) >= limit:
            break
        try:
            instance = _instance(raw, task)
        except FieldErrors as error:
            faults += [f"{path.name}:{line}: {field}: {message}" for field, message in error.errors.items()]
            continue
        if instance.key in rows:
            faults.append(f"{path.name}:{line}: key: {instance.key!r} is used twice")
        rows[instance.key] = instance
    if not faults and not rows:
        faults.append(f"{path.name}: has no rows")
    if faults:
        raise DatasetFaults(faults)
    return rows


def _rows(path: Path, faults: list[str]) -> Iterator[tuple[int, Any]]:
    if path.stat().st_size > LARGEST:
        faults.append(f"{path.name}: at most {LARGEST:,} bytes, got {path.stat().st_size:,}")
        return
    try:
        kind, delimiter, text = _plain(path)
    except UnreadableFile as error:
        faults.append(f"{path.name}: {error}")
        return
    if kind == "csv":
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
        try:
            for cells in rows:
                if None in cells or None in cells.values():
                    faults.append(
                        f"{path.name}:{rows.line_num}: has a different number of cells from the first line"
                    )
                else:
                    yield rows.line_num, cells
        except csv.Error as error:
            faults.append(f"{path.name}:{rows.line_num}: is not CSV: {error}")
        return
    if text.lstrip().startswith("["):
        try:
            yield from enumerate(json.loads(text), 1)
        except (ValueError, RecursionError) as error:
            faults.append(f"{path.name}: is not a JSON array: {error}")
        return
    for line, row in enumerate(text.split("\n"), 1):
        if row.strip():
            try:
                yield line, json.loads(row)
            except (ValueError, RecursionError) as error:
                faults.append(f"{path.name}:{line}: is not JSON: {error}")


def _plain(path: Path) -> tuple[str, str, str]:
    """The kind of a file (csv or jsonl), its delimiter and its text; raises ``UnreadableFile``."""
    with path.open("rb") as file:
        plain = plain_file(file, name=path.name, most_bytes=LARGEST)
        if plain.kind == "parquet":
            raise UnreadableFile("is a Parquet file; expected CSV, Excel, JSON lines or a JSON array")
        try:
            return plain.kind, plain.delimiter, plain.file.read().decode()
        except UnicodeDecodeError as error:
            raise UnreadableFile(
                f"is not UTF-8 at byte {error.start + 1}. Save it as UTF-8 (in Excel: CSV UTF-8) and choose it again"
            ) from None


def _instance(raw: Any, task: str) -> Instance:
    if not isinstance(raw, dict):
        raise FieldErrors({"row": f"expected a JSON object, got {type(raw).__name__}"})
    values = {
        field: next((raw[name] for name in names if raw.get(name) not in (None, "")), "")
        for field, names in NAMES.items()
    }
    if task == "preference" and "context" in raw:
        values["input"] = "Context: {context}\nResponse 1: {response_1}\nResponse 2: {response_2}".format_map(
            {name: _one_line(raw, name) for name in ("context", "response_1", "response_2")}
        )
    errors: dict[str, str] = {}
    if task == "multiple_choice" and raw.get("options"):
        options = _options(raw["options"], errors)
        lines = [f"{letter}: {option}" for letter, option in options.items()]
        values["input"] = "\n".join([str(values["input"]), *lines])
        named = {option.casefold(): letter for letter, option in options.items()}
        values["gold_label"] = named.get(str(values["gold_label"]).strip().casefold(), values["gold_label"])
    for field in ("key", "input", "gold_rationale"):
        value = values[field]
        try:
            values[field] = clean_text(" ".join(map(str, value)) if isinstance(value, list) else str(value))
        except FieldErrors as error:
            errors[field] = error.errors["text"]
    if not values["input"]:
        errors["input"] = f"is missing; looked for {', '.join(NAMES['input'])}"
    elif len(values["input"]) > LONGEST:
        errors["input"] = f"at most {LONGEST} characters, got {len(values['input'])}"
    label = values["gold_label"]
    try:
        text = ("yes" if label else "no") if isinstance(label, bool) else str(label)
        gold = answer_of(text, task) if text and task in ("yes_no", "preference", "multiple_choice") else text
    except ValueError as error:
        errors["gold_label"], gold = str(error), ""
    if errors:
        raise FieldErrors(errors)
    key = values["key"] or text_digest(values["input"])[:16]
    return Instance(
        key=key[:200], input=values["input"], gold_label=gold[:200], gold_rationale=values["gold_rationale"]
    )


def _options(raw: Any, errors: dict[str, str]) -> dict[str, str]:
    """Letter -> option, from a list or from a text with ``|`` between the options."""
    options = raw.split("|") if isinstance(raw, str) else raw
    if not isinstance(options, list) or not 2 <= len(options) <= len(LETTERS):
        errors["options"] = f"expected a list of 2 to {len(LETTERS)} answers"
        return {}
    return {letter: " ".join(str(option).split()) for letter, option in zip(LETTERS, options, strict=False)}


def _one_line(raw: dict[str, Any], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not value.strip():
        raise FieldErrors({name: "is missing"})
    return " ".join(value.split())
