"""Datasets for pipelines: read instances from a file, all or nothing. Every fault names its line."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.db import transaction

from annotator.core.canonical import text_digest
from annotator.core.tables.faults import FaultLog
from annotator.core.tables.plain_file import Limits
from annotator.core.tables.rows import table_open
from annotator.hit_types.base import FieldErrors, clean_text
from annotator.models import Dataset, Instance, User, Workspace
from evaluation.models import InstancePart
from evaluation.prompts.replies import answer_of
from evaluation.selectors.material import Part, own_parts, part_by_key

#: Field -> the names that published data sets use for it.
NAMES = {
    "key": ("key", "qid", "id", "instance"),
    "input": ("input", "question", "document", "article", "query"),
    "gold_label": ("gold_label", "answer", "label"),
    "gold_rationale": ("gold_rationale", "rationale", "facts", "explanation"),
    "part": ("part", "split"),
}
#: What files call the parts of a dataset -> ours.
PARTS: dict[str, Part] = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}
LONGEST = 100_000
#: The letters of the answers to a multiple-choice question.
LETTERS = "ABCDEFGH"
#: The largest file, and the most rows: all instances are in memory at once.
LIMITS = Limits(size=100_000_000, rows=1_000_000)


def dataset_load(
    *, name: str, path: Path, task: str, workspace: Workspace | None = None, limit: int | None = None
) -> tuple[Dataset, int]:
    """Read JSON lines, a JSON array, CSV, Parquet or Excel into a dataset of the workspace; returns the dataset and how
    many instances are new.

    An instance whose key is in the dataset already must be the same. Raises ``FileRefused``; then nothing is written.
    For preferences, a row has ``context``, ``response_1`` and ``response_2``; for multiple choice, ``options``.
    """
    with path.open("rb") as file:
        return _store(_read(file, path.name, task, limit), name=name, file=path.name, workspace=workspace)


@dataclass(frozen=True)
class _Row:
    """An unsaved instance without a dataset, and the part that its row names, if it names one."""

    instance: Instance
    part: Part | None
    line: int = 0


@transaction.atomic
def _store(
    rows: dict[str, _Row], *, name: str, file: str, workspace: Workspace | None
) -> tuple[Dataset, int]:
    dataset, _ = Dataset.objects.get_or_create(workspace=workspace, name=name)
    there = {instance.key: instance for instance in dataset.instances.filter(key__in=rows)}
    log = FaultLog(file)
    parts = own_parts(dataset) if there else {}
    for key, old in there.items():
        own = rows[key].instance
        if (old.input, old.gold_label) != (own.input, own.gold_label):
            log.add(f"the dataset {name!r} has this key with different content", field="key", value=key)
        if parts.get(old.pk) != rows[key].part:
            has = f"in the {parts[old.pk]} part" if old.pk in parts else "without a part"
            log.add(f"the dataset {name!r} has this key {has}", field="part", value=rows[key].part or "")
    log.check()
    new = [row for key, row in rows.items() if key not in there]
    for row in new:
        row.instance.dataset = dataset
    Instance.objects.bulk_create([row.instance for row in new])
    InstancePart.objects.bulk_create(
        [InstancePart(instance=row.instance, part=row.part) for row in new if row.part]
    )
    return dataset, len(new)


def dataset_upload(
    *, file: IO[bytes], name: str, task: str, user: User, workspace: Workspace, limit: int | None = None
) -> Dataset:
    """Read an uploaded file into a new dataset, named after its owner, the file and its content.

    Uploading the same file again gives the same dataset. Raises ``FileRefused``.
    """
    digest = hashlib.sha256(f"{task}:{limit}:".encode())
    file.seek(0)
    while piece := file.read(1 << 20):
        digest.update(piece)
    rows = _read(file, name, task, limit)
    if any(row.part for row in rows.values()):  # not the dataset of this file from before parts were read
        digest.update(b"parts")
    own = f"{user.get_username()[:60]}: {Path(name).stem[:100]} · {digest.hexdigest()[:8]}"
    return _store(rows, name=own, file=Path(name).name, workspace=workspace)[0]


def dataset_check(*, file: IO[bytes], name: str, task: str, limit: int | None = None) -> list[Part]:
    """The part of each instance in an uploaded file, without writing; raises ``FileRefused``."""
    return [row.part or part_by_key(key) for key, row in _read(file, name, task, limit).items()]


def dataset_inputs(*, path: Path, task: str, limit: int | None = None) -> list[str]:
    """The inputs of the instances in a file; nothing is written. Raises ``FileRefused``."""
    with path.open("rb") as file:
        return [row.instance.input for row in _read(file, path.name, task, limit).values()]


def _read(file: IO[bytes], name: str, task: str, limit: int | None) -> dict[str, _Row]:
    """Key -> unsaved instance without a dataset, with its part; raises ``FileRefused``. The file can be read again afterwards."""
    log = FaultLog(Path(name).name)
    rows: dict[str, _Row] = {}
    table = table_open(file, name=name, log=log, limits=LIMITS, lists=True, skip_blank=True)
    for line, raw in table.rows:
        if limit is not None and len(rows) >= limit:
            break
        try:
            instance, part = _instance(raw, task)
        except FieldErrors as error:
            for field, message in error.errors.items():
                log.add(message, line=line, field=field)
            continue
        if instance.key in rows:
            log.add("is used twice", line=line, field="key", value=instance.key)
        rows[instance.key] = _Row(instance, part, line)
    if any(row.part for row in rows.values()):
        for row in rows.values():
            if row.part is None:
                log.add("is missing, and other rows have one", line=row.line, field="part")
    if not log and not rows:
        log.add("has no rows")
    log.check()
    file.seek(0)
    return rows


def _instance(raw: dict[str, Any], task: str) -> tuple[Instance, Part | None]:
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
        letters = {option.casefold(): letter for letter, option in options.items()}
        values["gold_label"] = letters.get(str(values["gold_label"]).strip().casefold(), values["gold_label"])
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
    named = str(values["part"]).strip().casefold()
    if named not in {"", *PARTS}:
        errors["part"] = f"expected train, validation or test, got {str(values['part'])[:60]!r}"
    if errors:
        raise FieldErrors(errors)
    key = values["key"] or text_digest(values["input"])[:16]
    return Instance(
        key=key[:200], input=values["input"], gold_label=gold[:200], gold_rationale=values["gold_rationale"]
    ), PARTS.get(named)


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
