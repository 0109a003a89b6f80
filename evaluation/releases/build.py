"""Build a release: collect its rows, compute the report from them, compare it with the researchers' own, write the archive."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from django.db import connection, transaction

from annotator.models import Study
from evaluation.core.filter_text import parse_filter
from evaluation.core.version import software
from evaluation.ratings.attributes import RATER
from evaluation.releases.about import FEW, About, Built
from evaluation.releases.archive import REPORT, Writer, table_file, text_pieces
from evaluation.releases.card import CARD, CardFacts, card
from evaluation.releases.collect import Collection, Row, identifiers
from evaluation.releases.pseudonyms import renamed
from evaluation.releases.ratings_file import NAME as RATINGS
from evaluation.releases.ratings_file import ratings_csv
from evaluation.releases.reproduce import reproduction, without_links
from evaluation.releases.scratch import scratch
from evaluation.releases.screening import LeakCheck, LeakFound
from evaluation.releases.tables import TABLES, Scope
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from evaluation.reports.exports import export

PAGE = "report.html"


class ReleaseError(ValueError):
    """The release can't be built; the text says why and what to do."""


def release_build(
    *,
    studies: Sequence[Study],
    content: Mapping[str, Any],
    key: str,
    about: About,
    file: IO[bytes],
    progress: Callable[[str], None] = lambda text: None,
) -> Built:
    """Write the release of a report on some studies to ``file``.

    ``content`` is the report's stored content. ``key`` makes the pseudonyms. Memory doesn't grow with the number of
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
        with _one_moment():
            scope = Scope(studies)
            found = Collection(scope, key=key, attributes=about.attributes | attributes_needed(stored))
            rows = _write_tables(found, folder)
        choices = _choices(stored, found.names)
        progress("Computing the report from the released data")
        with scratch(_read_tables(folder)) as hidden:
            computed = compute_across(studies=hidden, choices=choices)
            ratings = folder / RATINGS
            with ratings.open("wb") as out:
                out.writelines(ratings_csv(hidden))
        released = without_links(computed.content)
        comparison = reproduction(
            _comparable(without_links(content), found.names), _comparable(released, found.names)
        )
        built = Built(
            rows=rows,
            removed=dict(sorted(found.screen.found.items())),
            alone=_alone(_read_tables(folder)),
            comparison=comparison,
        )
        progress("Writing the archive")
        writer = Writer(file)
        facts = CardFacts(
            about=about, content=released, built=built, studies=scope.studies, attributes=found.attributes
        )
        writer.add(CARD, text_pieces(card(facts)))
        writer.add(PAGE, text_pieces(export(released, computed.files, "html")))
        writer.add(REPORT, text_pieces(json.dumps(released, indent=1, ensure_ascii=False) + "\n"))
        writer.add(RATINGS, _pieces(ratings))
        for table in TABLES:
            writer.add(table_file(table.name), _pieces(folder / f"{table.name}.jsonl"))
        writer.close(
            {
                "title": about.title,
                "licence": about.licence,
                "software": software(),
                "choices": choices.to_json(),
                "inputs_hash": computed.inputs_hash,
                "rows": rows,
            }
        )
    return built


@contextmanager
def _one_moment() -> Iterator[None]:
    """A transaction that sees the database as it was at its beginning: people may be at work meanwhile."""
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _choices(choices: Choices, names: Mapping[str, str]) -> Choices:
    """The choices of a report with the pseudonym of a rater whose labels alone it uses."""
    rule, colon, rater = choices.rule.partition(":")
    return replace(choices, rule=f"{rule}:{names.get(rater, rater)}") if colon else choices


def _comparable(content: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The content with pseudonyms in its tables, and in one order what depends on the order of the raters' names: pairs of
    raters, and reasons for what was left out."""
    known = set(names.values())
    rules = {f"single:{name}": f"single:{pseudonym}" for name, pseudonym in names.items()}

    def cell(one: Mapping[str, Any]) -> dict[str, Any]:
        if one["kind"] != "number":
            return dict(one)
        return {
            **one,
            "rule": rules.get(one["rule"], one["rule"]),
            "left_out": dict(sorted(one["left_out"].items())),
        }

    def row(one: Mapping[str, Any]) -> dict[str, Any]:
        head = renamed(one["head"], names)
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
        return {**one, "columns": columns, "rows": list(map(row, one["rows"]))}

    sections = [{**section, "blocks": list(map(block, section["blocks"]))} for section in content["sections"]]
    return {**content, "sections": sections}


def attributes_needed(choices: Choices) -> frozenset[str]:
    """The raters' attributes by which a report is grouped or filtered: without them it can't be computed."""
    used = {choices.by, *parse_filter(choices.only)} if choices.only else {choices.by}
    return frozenset(name.removeprefix(RATER) for name in used if name.startswith(RATER))


def _write_tables(found: Collection, folder: Path) -> dict[str, int]:
    """Each table as JSON lines; returns the number of rows by table."""
    check = LeakCheck(identifiers(found.scope))
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    numbers: dict[str, int] = {}
    for table in TABLES:
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


def _read_tables(folder: Path) -> dict[str, Iterator[Row]]:
    def rows(path: Path) -> Iterator[Row]:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield json.loads(line)

    return {table.name: rows(folder / f"{table.name}.jsonl") for table in TABLES}


def _alone(rows: Mapping[str, Iterator[Row]]) -> int:
    """The number of raters who share their released attributes with fewer than ``FEW`` in all."""
    of_rater: dict[int, set[tuple[str, str]]] = {}
    for row in rows["rater"]:
        of_rater.setdefault(row["id"], set()).update((n, str(v)) for n, v in row["attributes"].items())
    for row in rows["participation"]:
        of_rater.setdefault(row["rater_id"], set()).update(
            (n, str(v)) for n, v in row["join_parameters"].items()
        )
    sizes = Counter(frozenset(values) for values in of_rater.values() if values)
    return sum(number for number in sizes.values() if number < FEW)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(2**20):
            yield piece
