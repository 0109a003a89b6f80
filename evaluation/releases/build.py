"""Build a release: collect its rows, compute the report from them, compare it with the researchers' own, write the archive."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from django.db import transaction

from annotator.core.replica import reading_from, replica_read
from annotator.models import Study
from evaluation.releases.about import FEW, About, Built
from evaluation.releases.archive import (
    CARD,
    MANIFEST,
    PAGE,
    RATINGS,
    REPORT,
    Writer,
    table_file,
    text_pieces,
)
from evaluation.releases.collect import Collection, Row, identifiers
from evaluation.releases.contents import (
    Stated,
    contents_make,
    made_with,
    manifest_about,
    pieces,
    report_text,
    without_links,
)
from evaluation.releases.described.files import indexes_make, texts_make
from evaluation.releases.free_texts import Decisions
from evaluation.releases.parts import NO_PART, ReleasePart
from evaluation.releases.plan_files import plan_files_make
from evaluation.releases.pseudonyms import renamed
from evaluation.releases.rater_values import Uncomputable, attributes_needed, report_check, timings_changed
from evaluation.releases.reproduction import reproduction
from evaluation.releases.scratch import scratch
from evaluation.releases.screening import LeakCheck, LeakFound
from evaluation.releases.small_cells import AS_IT_IS, Coarsening
from evaluation.releases.tables import TABLES, Scope, tables_of
from evaluation.reports.choices import Choices


class ReleaseError(ValueError):
    """The release can't be built; the text says why and what to do."""


def release_build(
    *,
    studies: Sequence[Study],
    content: Mapping[str, Any],
    key: str,
    private: str,
    about: About,
    file: IO[bytes],
    free_text: bool = False,
    decisions: Decisions | None = None,
    coarsening: Coarsening = AS_IT_IS,
    progress: Callable[[str], None] = lambda text: None,
) -> Built:
    """Write the release of a report on some studies to ``file``.

    ``content`` is the report's stored content. ``key`` makes the pseudonyms and
    ``private`` is the lab's key that signs. Free texts are left out, or with ``free_text`` released where ``decisions`` say so; those without a decision are
    left out and counted. Attributes and times are coarsened as ``coarsening`` says. Memory doesn't grow with the number of
    judgments beyond their ids. Raises ``ReleaseError`` if the report can't be computed from the released data alone, or if a
    table still holds something by which a person is known.
    """
    stored = Choices.parse(content["choices"])
    if stored.encoder.startswith("endpoint:"):
        raise ReleaseError(
            f"The report uses the embeddings of a model server ({stored.encoder}), so nobody else can compute it from the data. "
            "Compute a report with another encoder and release that one."
        )
    with tempfile.TemporaryDirectory(prefix="foretell-release-") as name:
        folder = Path(name)
        progress("Collecting the data")

        def collect() -> tuple[Collection, LeakCheck, dict[str, int], int]:
            with _one_moment():
                scope = Scope(studies)
                known = identifiers(scope)
                found = Collection(
                    scope,
                    key=key,
                    attributes=about.attributes | attributes_needed(stored),
                    free_text=free_text,
                    decisions=decisions,
                    coarsening=coarsening,
                )
                try:
                    report_check(stored, found.values, found.coarsened)
                except Uncomputable as error:
                    raise ReleaseError(str(error)) from None
                _, times = timings_changed(scope.study_pks, coarsening)
                check = LeakCheck(known)
                return found, check, _write_tables(found, folder, check), times

        found, check, rows, times = replica_read(collect)
        choices = _choices(stored, found.names)
        removed = dict(sorted(found.screen.found.items()))
        numbers = {attribute.name: attribute.to_json() for attribute in found.coarsened.attributes}
        stated = Stated(
            about, removed, sorted(found.attributes), free_text, coarsening, numbers, found.scope.parts
        )
        progress("Computing the report from the released data")
        with scratch(_read_tables(folder)) as hidden:
            made = contents_make(
                hidden,
                choices=choices,
                stated=stated,
                rows=lambda: rows,
                folder=folder,
                plan=content.get("plan"),
            )
        screened = _reasons(found.texts.reasons)
        comparison = reproduction(
            _comparable(without_links(content), found.names, screened),
            _comparable(made.content, found.names, screened),
        )
        built = Built(
            rows=rows,
            removed=removed,
            alone=_alone(_read_tables(folder)),
            comparison=comparison,
            texts=dict(found.texts.found),
            undecided=len(found.texts.undecided),
            attributes=found.coarsened.attributes,
            times=times,
        )
        progress("Writing the archive")
        writer = Writer(file)

        def add(name: str, parts: Iterable[bytes]) -> None:
            try:
                writer.add(name, check.checked(parts))
            except LeakFound:
                raise ReleaseError(_leak_in_file(name)) from None

        add(CARD, text_pieces(made.card))
        add(PAGE, text_pieces(made.page))
        add(REPORT, text_pieces(report_text(made.content)))
        add(RATINGS, pieces(made.ratings))
        for table in tables_of(found.scope.parts):
            writer.add(table_file(table.name), pieces(folder / f"{table.name}.jsonl"))
        plan_files = plan_files_make(made.content)
        for name, text in plan_files.items():
            add(name, text_pieces(text))
        for name, text in texts_make(made.described).items():
            add(name, text_pieces(text))
        for name, text in indexes_make(made.described, writer.files).items():
            add(name, text_pieces(text))
        told = manifest_about(
            stated=stated, choices=choices, inputs_hash=made.inputs_hash, rows=rows, made=made_with()
        )
        try:
            check(json.dumps(told, ensure_ascii=False))
        except LeakFound:
            raise ReleaseError(_leak_in_file(MANIFEST)) from None
        parts = found.scope.parts | (ReleasePart.PLAN if plan_files else NO_PART)
        writer.close(told, private=private, parts=parts)
    return built


@contextmanager
def _one_moment() -> Iterator[None]:
    """A transaction that sees the database as it was at its beginning: people may be at work meanwhile."""
    connection = reading_from()
    outermost = not connection.in_atomic_block
    with transaction.atomic(using=connection.alias):
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _reasons(released: Mapping[str, str]) -> Callable[[str], str]:
    """How the report's own reasons for what was left out read in the release."""
    longest = sorted(released, key=len, reverse=True)

    def shown(text: str) -> str:
        reason = next((one for one in longest if text.endswith(f": {one}")), None)
        return text if reason is None else text.removesuffix(reason) + released[reason]

    return shown


def _choices(choices: Choices, names: Mapping[str, str]) -> Choices:
    """The choices of a report with the pseudonym of a rater whose labels alone it uses."""
    rule, colon, rater = choices.rule.partition(":")
    return replace(choices, rule=f"{rule}:{names.get(rater, rater)}") if colon else choices


def _comparable(
    content: Mapping[str, Any], names: Mapping[str, str], screened: Callable[[str], str]
) -> dict[str, Any]:
    """The content with pseudonyms in its tables, with screened reasons for what was left out, and in one order what depends on the
    order of the raters' names: pairs of raters, and those reasons."""
    known = set(names.values())
    rules = {f"single:{name}": f"single:{pseudonym}" for name, pseudonym in names.items()}

    def cell(one: Mapping[str, Any]) -> dict[str, Any]:
        if one["kind"] != "number":
            return dict(one)
        return {
            **one,
            "rule": rules.get(one["rule"], one["rule"]),
            "left_out": _screened_counts(one["left_out"], screened),
        }

    def row(one: Mapping[str, Any]) -> dict[str, Any]:
        head = [screened(text) for text in renamed(one["head"], names)]
        pair = len(head) > 1 and not known.isdisjoint(head)
        return {
            **one,
            "head": sorted(head) if pair else head,
            "group": names.get(one["group"], one["group"]),
            "cells": list(map(cell, one["cells"])),
        }

    def block(one: Mapping[str, Any]) -> dict[str, Any]:
        if one["kind"] != "table":
            return dict(one)
        columns = [renamed(column, names) for column in one["columns"]]
        return {**one, "columns": columns, "rows": _merged(list(map(row, one["rows"])))}

    sections = [{**section, "blocks": list(map(block, section["blocks"]))} for section in content["sections"]]
    return {**content, "sections": sections}


def _merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, where two that have become one have the sum of their counts: reasons that differed only in what isn't released."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        key = (row["group"], *row["head"])
        counts = [cell for cell in row["cells"] if cell["kind"] == "number" and cell["shape"] == "count"]
        if key in found and len(counts) == len(row["cells"]):
            both = zip(found[key]["cells"], row["cells"], strict=True)
            cells = [{**a, "value": a["value"] + b["value"], "n": a["n"] + b["n"]} for a, b in both]
            found[key] = {**row, "cells": cells}
        else:
            found[(*key, "") if key in found else key] = row
    return list(found.values())


def _screened_counts(counts: Mapping[str, int], screened: Callable[[str], str]) -> dict[str, int]:
    """Numbers by reason, where two reasons may be the same once the names in them are removed."""
    found: Counter[str] = Counter()
    for reason, number in counts.items():
        found[screened(reason)] += number
    return dict(sorted(found.items()))


def _write_tables(found: Collection, folder: Path, check: LeakCheck) -> dict[str, int]:
    """Each table as JSON lines; returns the number of rows by table."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    numbers: dict[str, int] = {}
    for table in tables_of(found.scope.parts):
        numbers[table.name] = 0
        with (folder / f"{table.name}.jsonl").open("w", encoding="utf-8", newline="\n") as out:
            for row in found.rows(table):
                line = encode(row)
                try:
                    check(line)
                except LeakFound:
                    raise ReleaseError(_leak(table.name, row)) from None
                out.write(line + "\n")
                numbers[table.name] += 1
    return numbers


def _leak(table: str, row: Row) -> str:
    where = next(
        (f"{name} {row[name]}" for name in ("key", "slug", "name") if name in row), f"row {row['id']}"
    )
    return (
        f"A participant's name, username, email address or panel id is part of the released table {table} ({where}), which isn't "
        "screened because reports are computed from it. Correct the material, or rename the participant, and try again."
    )


def _leak_in_file(name: str) -> str:
    return (
        f"A participant's name, username, email address or panel id is part of {name}. Look for it in the report's and the "
        "release's own texts, correct them, and try again."
    )


def _read_tables(folder: Path) -> dict[str, Iterator[Row]]:
    def rows(path: Path) -> Iterator[Row]:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield json.loads(line)

    written = {table.name: folder / f"{table.name}.jsonl" for table in TABLES}
    return {name: rows(path) if path.exists() else iter(()) for name, path in written.items()}


def _alone(rows: Mapping[str, Iterator[Row]]) -> int:
    """The number of raters who share their released attributes with fewer than ``FEW`` in all."""
    of_rater: dict[int, set[tuple[str, str]]] = {}
    for row in rows["rater"]:
        of_rater.setdefault(row["id"], set()).update((n, str(v)) for n, v in row["attributes"].items())
    whose: dict[int, int] = {}
    for row in rows["participation"]:
        whose[row["id"]] = row["rater_id"]
        of_rater.setdefault(row["rater_id"], set()).update(
            (n, str(v)) for n, v in row["join_parameters"].items()
        )
    for row in rows["questionnaire_answer"]:
        held = of_rater.setdefault(whose[row["participation_id"]], set())
        held.update((n, str(v)) for n, v in row["attributes"].items())
    sizes = Counter(frozenset(values) for values in of_rater.values() if values)
    return sum(number for number in sizes.values() if number < FEW)
