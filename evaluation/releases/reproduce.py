"""Check a release: its signature, and that everything in it that is made from its data is what the data give."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from annotator.core.printable import printable, printable_lines
from evaluation.releases.about import About
from evaluation.releases.archive import (
    CARD,
    MANIFEST,
    PAGE,
    PLAN_JSON,
    RATINGS,
    REPORT,
    ArchiveError,
    made_names,
    manifest_text,
    plan_names,
    table_file,
)
from evaluation.releases.coarsening_words import coarsening_read, report_warnings
from evaluation.releases.contents import (
    Made,
    Stated,
    contents_make,
    made_with,
    manifest_about,
    report_text,
)
from evaluation.releases.creators import creators_read
from evaluation.releases.described.files import indexes_make, texts_make
from evaluation.releases.differences import MOST, json_differences, text_differences
from evaluation.releases.parts import parts_of
from evaluation.releases.plan_files import plan_files_make
from evaluation.releases.rater_values import coarsening_problems
from evaluation.releases.reading import LONGEST_LINE, MB, Archive, json_read
from evaluation.releases.reproduction import Reproduction, reproduction
from evaluation.releases.scratch import scratch
from evaluation.releases.signature import (
    PUBLIC,
    SIGNATURE,
    SUMS,
    KeyInvalid,
    public_read,
    signature_holds,
    sums_of,
)
from evaluation.releases.small_cells import Coarsening
from evaluation.reports.choices import Choices, ChoicesError
from evaluation.reports.encoders import AUTO, TFIDF
from evaluation.selectors.endpoint import SENTENCES

#: The encoders that a release may choose by itself: those that are part of the product.
ENCODERS = frozenset({AUTO, TFIDF, SENTENCES})
_IMAGE = re.compile(rb"data:image/[a-z+]+;base64,[A-Za-z0-9+/=]*")
#: What nobody can check from the data.
STATEMENTS = "what the authors say: the title, description, licence, citation, authors and date, which attributes and texts they released, and the numbers of what was removed from free text"


def release_reproduce(
    release: Archive,
    *,
    key: str = "",
    encoders: Collection[str] = (),
    tick: Callable[[], None] = lambda: None,
) -> Reproduction:
    """Make everything again that is made from the data of a release, and compare all of it.

    ``key`` is the lab's public key, which the caller got from somewhere else than the release; without it, the signature only shows that
    the file is as its signer made it. ``encoders`` are names of models that may be loaded besides ``ENCODERS``. Nothing is stored.
    Raises ``ArchiveError`` if the file asks for what this version doesn't have, or can't be computed.
    """
    try:
        signed, notes = _signature(release, key)
        stated, choices = _stated(release.manifest), choices_of(release.manifest, encoders)
        released = release.report
        numbers: dict[str, int] = {}
        with tempfile.TemporaryDirectory(prefix="foretell-release-") as folder:
            with scratch(_counted(release.rows(), numbers, tick)) as studies:
                made = contents_make(
                    studies,
                    choices=choices,
                    stated=stated,
                    rows=lambda: {table.name: numbers.get(table.name, 0) for table in release.tables},
                    folder=Path(folder),
                    shown=lambda content: _shown(released, _as_made(content, release.manifest)),
                    plan=released.get("plan"),
                )
                coarse = (
                    []
                    if stated.coarsening is None
                    else coarsening_problems(studies, stated.coarsening, stated.numbers)
                )
            rows = {table.name: numbers.get(table.name, 0) for table in release.tables}
            problems, unchecked = _compare(release, released, made, stated, choices, rows)
        found = _figures(released, made.content, problems)
    except ArchiveError:
        raise
    except KeyInvalid as error:
        raise ArchiveError(str(error)) from error
    except (MemoryError, RecursionError, Exception) as error:
        # The data are somebody else's: whatever they break is said in a sentence.
        said = printable_lines(str(error))[:500] or type(error).__name__
        raise ArchiveError(f"the release can't be computed: {said}") from error
    known = [] if key else ["whose key signed it: pass the lab's public key with --key"]
    return replace(
        found,
        problems=[*signed, *problems, *(f"{MANIFEST}: {said}" for said in coarse)],
        checked=[
            notes,
            "the SHA-256 of every file",
            f"{REPORT}, {PAGE} with its figures and sentences, {RATINGS}, {CARD} and {MANIFEST}: made again from the tables and compared",
            "the files for other tools (Croissant, Frictionless, RO-Crate, DataCite, citation, methods, scripts): made again and compared",
        ],
        unchecked=[*known, STATEMENTS, *_before_coarsening(stated, choices), *unchecked],
    )


def _figures(released: dict[str, Any], computed: dict[str, Any], problems: Sequence[str]) -> Reproduction:
    """The figures of both reports compared. The released one may be anything: what can't be compared is refused in the words of its
    first difference."""
    try:
        return reproduction(released, computed)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        about = (said for said in problems if said.startswith(REPORT))
        raise ArchiveError(next(about, f"{REPORT} isn't written as Foretell writes it")) from error


def _before_coarsening(stated: Stated, choices: Choices) -> list[str]:
    """Figures that nobody can compute, because the data in the file are coarser than those that the authors had."""
    said = _coarsened_warnings(stated, choices)
    return (
        [f"what the authors had before the data were coarsened. {' '.join(said).rstrip('.')}"] if said else []
    )


def _coarsened_warnings(stated: Stated, choices: Choices) -> list[str]:
    if stated.coarsening is None:
        return []
    return report_warnings(stated.coarsening, stated.numbers, choices)


def coarsened_warnings(manifest: Mapping[str, Any], encoders: Collection[str] = ()) -> list[str]:
    """Which of the report's groups and figures can't be reproduced as the researchers had them, because a release has coarser data."""
    return _coarsened_warnings(_stated(manifest), choices_of(manifest, encoders))


def signature_problems(release: Archive, key: str) -> list[str]:
    """What is wrong with the signature, file by file; none if it is valid for ``key``, or without one for the key in the file.

    Raises ``ArchiveError`` if ``key`` is none.
    """
    try:
        return _signature(release, key)[0]
    except KeyInvalid as error:
        raise ArchiveError(str(error)) from error


def _signature(release: Archive, key: str) -> tuple[list[str], str]:
    """What is wrong with the signature, file by file, and what was verified."""
    sums, signature = release.read(SUMS), release.read(SIGNATURE)
    public_file = release.read(PUBLIC).decode("utf-8", "replace")
    expected = {name: release.digests[name] for name in (*release.contents, MANIFEST, PUBLIC)}
    problems = [
        f"{name} was changed after the release was signed: {SUMS} has another SHA-256"
        for name, digest in expected.items()
        if f"{digest}  {name}\n".encode() not in sums
    ]
    if sums != sums_of(expected) and not problems:
        problems.append(f"{SUMS} was changed: it isn't the list of the files")
    wanted = public_read(key) if key else ""
    try:
        public = public_read(public_file)
    except KeyInvalid as error:
        return [*problems, f"{PUBLIC}: {error}"], "nothing of the signature"
    if wanted and public != wanted:
        problems.append(f"{PUBLIC}: the release was signed with another key: {public} instead of {wanted}")
    if not signature_holds(sums, signature, wanted or public):
        problems.append(
            f"{SIGNATURE}: the signature isn't valid for {SUMS}: one of them was changed, or {PUBLIC}"
        )
    whose = "the given key" if wanted else f"the key in the file, {public}"
    return problems, f"the signature, with {whose}"


def _stated(manifest: Mapping[str, Any]) -> Stated:
    """What the manifest says of its own. Raises ``ArchiveError`` for another form."""

    def part(name: str, kind: type[Any]) -> Any:
        value = manifest.get(name)
        if not isinstance(value, kind):
            raise ArchiveError(f"{MANIFEST}: {name} should be a {kind.__name__}")
        return value

    texts = {name: part(name, str) for name in ("title", "description", "licence", "citation")}
    attributes, removed, free_text = part("attributes", list), part("removed", dict), part("free_text", bool)
    creators, date = part("creators", list), part("date", str)
    if not all(isinstance(creator, str) for creator in creators):
        raise ArchiveError(f"{MANIFEST}: creators should be texts")
    creators_read(creators)
    if not all(isinstance(attribute, str) for attribute in attributes):
        raise ArchiveError(f"{MANIFEST}: attributes should be names")
    if not all(isinstance(one, int) and one > 0 for one in removed.values()):
        raise ArchiveError(f"{MANIFEST}: removed should be numbers")
    for name in ("software", "libraries"):
        part(name, str)
    coarsening: Coarsening | None = None
    numbers: dict[str, dict[str, int]] = {}
    if "coarsening" in manifest:
        try:
            coarsening, numbers = coarsening_read(manifest["coarsening"])
        except ValueError as error:
            raise ArchiveError(f"{MANIFEST}: coarsening: {printable(str(error), most=300)}") from None
    about = About(**texts, creators=tuple(creators), date=date, attributes=frozenset(attributes))
    parts = parts_of(manifest["format"])
    return Stated(about, removed, attributes, free_text, coarsening, numbers, parts)


def choices_of(manifest: Mapping[str, Any], encoders: Collection[str]) -> Choices:
    """The choices of the released report. Raises ``ArchiveError`` if they name a model that isn't in ``ENCODERS`` or ``encoders``."""
    if not isinstance(manifest.get("choices"), dict):
        raise ArchiveError(f"{MANIFEST}: choices should be an object")
    try:
        choices = Choices.parse(manifest["choices"])
    except ChoicesError as error:
        raise ArchiveError(f"{MANIFEST}: choices: {printable_lines(str(error))}") from error
    if choices.encoder not in ENCODERS and choices.encoder not in encoders:
        name = printable(choices.encoder, most=100)
        raise ArchiveError(
            f"the release asks for the model {name} to embed texts. No model is loaded because a file names it: if you know and trust it, "
            f"pass --encoder {name}."
        )
    return choices


def _counted(
    tables: Mapping[str, Iterator[dict[str, Any]]], numbers: dict[str, int], tick: Callable[[], None]
) -> dict[str, Iterable[dict[str, Any]]]:
    """The rows, counted as they are read."""

    def rows(name: str, found: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        numbers[name] = 0
        for row in found:
            numbers[name] += 1
            tick()
            yield row

    return {name: rows(name, found) for name, found in tables.items()}


def _as_made(content: dict[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The computed content with the versions of the software that made the release in place of this one's."""
    mine = made_with()
    libraries = str(manifest["libraries"]).rsplit(", altair", 1)[0]
    own = mine["libraries"].rsplit(", altair", 1)[0]

    def versions(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(own, libraries).replace(mine["software"], str(manifest["software"]))
        if isinstance(value, dict):
            return {name: versions(one) for name, one in value.items()}
        return [versions(one) for one in value] if isinstance(value, list) else value

    same = all(manifest[name] == mine[name] for name in mine)
    return content if same else dict(versions(content))


def _shown(released: dict[str, Any], computed: dict[str, Any]) -> dict[str, Any]:
    """The content of which pages are made again: the released one if it's true, because its late digits are in the pages."""
    return computed if json_differences(released, computed) else released


def _compare(
    release: Archive,
    released: dict[str, Any],
    made: Made,
    stated: Stated,
    choices: Choices,
    rows: Mapping[str, int],
) -> tuple[list[str], list[str]]:
    """What differs, and what can't be compared."""
    unchecked: list[str] = []
    computed = _as_made(made.content, release.manifest)
    problems = [f"{REPORT}: {said}" for said in json_differences(released, computed)]
    if release.read(REPORT) != report_text(released).encode():
        problems.append(f"{REPORT} isn't written as Foretell writes it")
    problems += text_differences(CARD, release.read(CARD), made.card.encode())
    page, again = release.read(PAGE), made.page.encode()
    if page != again:
        drawn_alike = release.manifest["libraries"] == made_with()["libraries"]
        if not drawn_alike and _IMAGE.sub(b"", page) == _IMAGE.sub(b"", again):
            unchecked.append(f"the figures of {PAGE}, which another version of the libraries drew")
        else:
            problems += text_differences(PAGE, page, again)
    problems += _ratings(release, made.ratings)
    problems += _plan(release, released)
    problems += _descriptions(release, made)
    about = manifest_about(
        stated=stated,
        choices=choices,
        inputs_hash=made.inputs_hash,
        rows=rows,
        made={name: str(release.manifest[name]) for name in ("software", "libraries")},
    )
    expected = manifest_text(about, _files(release, release.contents), stated.parts)
    if release.read(MANIFEST) != expected:
        wanted = json_read(expected, MANIFEST)
        problems += [
            f"{MANIFEST}: {said}" for said in json_differences(release.manifest, wanted, exact=True)
        ] or [f"{MANIFEST} isn't written as Foretell writes it"]
    for table in release.tables:
        if rows[table.name] and not release.digests.get(table_file(table.name)):
            problems.append(f"{table_file(table.name)} has no digest")
    if problems and release.manifest["software"] != made_with()["software"]:
        problems.append(
            f"The release was made with {printable(release.manifest['software'], most=100)}, and this is {made_with()['software']}: "
            "differences of pages can be due to that. Check it with the version that made it."
        )
    return problems, unchecked


def _descriptions(release: Archive, made: Made) -> list[str]:
    """What differs in the files that describe the release."""
    facts = made.described.made_with(str(release.manifest["software"]))
    again = texts_make(facts)
    again |= indexes_make(facts, _files(release, (*made_names(release.manifest["format"]), *again)))
    return [
        said
        for name, text in again.items()
        for said in text_differences(name, release.read(name), text.encode())
    ]


def _plan(release: Archive, released: dict[str, Any]) -> list[str]:
    """What differs in the files of the plan, which must be the sealed one: that of the report, with its hash."""
    named = plan_names(release.manifest["format"])
    if not named:
        return []
    again = plan_files_make(released)
    if not again:
        return [f"{PLAN_JSON} is there, but the report has no sealed plan"]
    return [
        said
        for name, text in again.items()
        for said in text_differences(name, release.read(name), text.encode())
    ]


def _files(release: Archive, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    return {
        name: {"sha256": release.digests[name], "bytes": release.file.getinfo(name).file_size}
        for name in names
    }


def _ratings(release: Archive, made: Path) -> list[str]:
    """The lines in which the table of ratings differs, read piece by piece."""

    def lines(parts: Iterable[bytes]) -> Iterator[bytes]:
        rest = b""
        for piece in parts:
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
            if len(rest) > LONGEST_LINE:
                raise ArchiveError(f"{RATINGS} has a line that is longer than {LONGEST_LINE // MB} MB")
        yield rest

    found: list[str] = []
    with made.open("rb") as file:
        again = iter(lambda: file.read(2**20), b"")
        for number, (a, b) in enumerate(zip_longest(lines(release.pieces(RATINGS)), lines(again)), 1):
            if a != b:
                said = text_differences(RATINGS, a or b"", b or b"")
                found += [one.replace("line 1:", f"line {number}:") for one in said[:1]] or [
                    f"{RATINGS}, line {number}: has another ending"
                ]
                if len(found) == MOST:
                    break
    return found
