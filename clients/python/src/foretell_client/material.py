"""What goes into a study and what people made of it: items, images, judgments, exclusions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from foretell_client.errors import ApiError, BadRequest, JobStopped
from foretell_client.jobs import Job, Progress
from foretell_client.operations import Operations
from foretell_client.operations.exclusions import Exclusion, ExclusionSent
from foretell_client.operations.images import Image, ImagesUploaded
from foretell_client.operations.imports import MaterialImported
from foretell_client.operations.items import Item
from foretell_client.operations.judgments import Judgment, JudgmentsImported
from foretell_client.operations.shared import FileImport as FileImportData
from foretell_client.transport import Download, File

#: A file's path, or rows.
Source: TypeAlias = "str | os.PathLike[str] | Iterable[Mapping[str, Any]]"
Watcher: TypeAlias = "Callable[[Progress], object] | None"
#: Larger files are sent in pieces, and imported by a worker.
AT_ONCE = 8_000_000


class FileImport(Job[FileImportData]):
    """The import of a large file by a worker."""

    what = "import"
    bad = frozenset({"failed", "refused", "cancelled"})

    @property
    def progress(self) -> Progress:
        return Progress(self.state, self.data["bytes_read"], self.data["size"], "bytes")

    def _read(self) -> FileImportData:
        return self._operations.imports.read(self.id)

    def cancel(self) -> FileImport:
        """Cancel it; nothing is stored."""
        self.data = self._operations.imports.cancel(self.id)
        return self

    def problems(self) -> Download:
        """Every problem of a refused file, as CSV."""
        return self._operations.imports.problems(self.id)


class _Sender:
    """Sends a file or rows, in pieces if it is large, and waits for the result."""

    def __init__(self, operations: Operations, slug: str) -> None:
        self._operations, self._slug = operations, slug

    def _send(
        self, source: Source, send: Callable[..., Any], progress: Watcher, **options: Any
    ) -> Mapping[str, Any]:
        chosen = {name: value for name, value in options.items() if value not in (None, {}, [])}
        name, file = opened(source)
        with closing(file):
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if size > AT_ONCE:
                chosen |= {"upload": self._pieces(name, file, size, progress), "size": size}
            else:
                chosen |= {"file": (name, file)}
            reply: Mapping[str, Any] = send(self._slug, **chosen)
        if "bytes_read" not in reply:
            return reply
        job = FileImport(self._operations, cast(FileImportData, reply))
        try:
            return job.wait(progress=progress).data["result"]
        except JobStopped as stopped:
            raise refusal(job) or stopped from None

    def _pieces(self, name: str, file: IO[bytes], size: int, progress: Watcher) -> str:
        begun = self._operations.imports.uploads(self._slug, name=name)
        sent = 0
        while piece := file.read(begun["piece_bytes"]):
            reply = self._operations.imports.uploads_pieces_replace(
                self._slug, upload=begun["upload"], offset=sent, content=piece
            )
            sent = reply["received"]
            if progress is not None:
                progress(Progress("sending", sent, size, "bytes"))
        return begun["upload"]


def refusal(job: FileImport) -> ApiError | None:
    """The error that a refused file is, as a small one would have been; None for an import that ended otherwise."""
    if job.state != "refused":
        return None
    problem = {
        "detail": "Nothing was imported.",
        "total": job.data["problem_count"],
        "faults": job.data["problems"],
    }
    return BadRequest(400, problem)


def opened(source: Source) -> tuple[str, IO[bytes]]:
    """The name and the bytes of a file, or of rows as JSON lines."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return path.name, path.open("rb")
    lines = (json.dumps(dict(row), ensure_ascii=False) + "\n" for row in source)
    return "rows.jsonl", BytesIO("".join(lines).encode())


class Items(_Sender):
    """A study's items."""

    def __iter__(self) -> Iterator[Item]:
        return self._operations.items.all(self._slug, page_size=500)

    def upload(
        self,
        source: Source,
        *,
        mapping: Mapping[str, str] | None = None,
        constants: Mapping[str, str] | None = None,
        attributes: Sequence[str] = (),
        dry_run: bool = False,
        progress: Watcher = None,
    ) -> MaterialImported:
        """Import a file (JSON lines, CSV, Parquet, Excel) or rows: all of it or nothing.

        ``mapping`` says which of its columns a column of the HIT type is, ``constants`` what all rows have, and ``attributes``
        which columns are kept for groups and filters of reports. ``dry_run`` only checks. Raises ``BadRequest`` with ``faults``.
        """
        send = self._operations.imports.material
        reply = self._send(
            source, send, progress, mapping=mapping, constants=constants, attributes=list(attributes), dry_run=dry_run
        )  # fmt: skip
        return cast(MaterialImported, reply)

    def contested(self, **filters: Any) -> list[Any]:
        """The items that people disagree on most, with all answers."""
        return list(self._operations.items.contested(self._slug, **filters))


class Judgments(_Sender):
    """A study's judgments: of people, simulators and imports."""

    def __iter__(self) -> Iterator[Judgment]:
        return self.all()

    def all(self, **filters: Any) -> Iterator[Judgment]:
        """Those that fit the filters, such as ``rater_kind="human"``; a page is requested when its first judgment is."""
        return self._operations.judgments.all(self._slug, **{"page_size": 1000, **filters})

    def rows(self, **filters: Any) -> list[dict[str, Any]]:
        """The judgments as flat rows: the answer to ``x`` is the column ``response.x``."""
        return [flat(judgment) for judgment in self.all(**filters)]

    def frame(self, **filters: Any) -> Any:
        """``rows`` as a pandas frame; where pandas isn't installed, the list of rows."""
        rows = self.rows(**filters)
        try:
            import pandas
        except ModuleNotFoundError:
            return rows
        return pandas.DataFrame(rows)

    def download(self, **choices: Any) -> Download:
        """One file, of up to 100,000 judgments: ``as_="csv"`` or ``"jsonl"``, ``form="judgments"`` or ``"ratings"``, filters."""
        return self._operations.judgments.export(self._slug, **choices)

    def upload(
        self,
        source: Source,
        *,
        columns: Mapping[str, Any],
        dry_run: bool = False,
        progress: Watcher = None,
    ) -> JudgmentsImported:
        """Import labels that were collected elsewhere; ``columns`` says what the file's columns mean (docs/import.md)."""
        send = self._operations.judgments.import_
        reply = self._send(source, send, progress, columns=dict(columns), dry_run=dry_run)
        return cast(JudgmentsImported, reply)


class Exclusions:
    """What doesn't count in a study, and why."""

    def __init__(self, operations: Operations, slug: str) -> None:
        self._operations, self._slug = operations, slug

    def __iter__(self) -> Iterator[Exclusion]:
        return self._operations.exclusions.all(self._slug, page_size=500)

    def create(
        self,
        *,
        reason: str,
        rater: str | None = None,
        item: str | None = None,
        judgment: int | None = None,
        collect_again: bool = False,
    ) -> Exclusion:
        """Exclude one rater (by name), item (by key) or judgment (by id). ``collect_again`` asks other people instead."""
        sent: ExclusionSent = {"reason": reason, "collect_again": collect_again}
        if rater is not None:
            sent["rater"] = rater
        if item is not None:
            sent["item"] = item
        if judgment is not None:
            sent["judgment"] = judgment
        return self._operations.exclusions.create(self._slug, **sent)

    def change(self, id: int, *, reason: str) -> Exclusion:
        """Correct the reason."""
        return self._operations.exclusions.change(id, reason=reason)

    def lift(self, id: int) -> Exclusion:
        """Let it count again. The exclusion stays on record."""
        return self._operations.exclusions.lift(id)


class Images:
    """The images that a study's items show."""

    def __init__(self, operations: Operations, slug: str) -> None:
        self._operations, self._slug = operations, slug

    def __iter__(self) -> Iterator[Image]:
        return iter(self._operations.images.all(self._slug))

    def upload(self, *paths: str | os.PathLike[str]) -> ImagesUploaded:
        """Add images, or ZIP archives of them."""
        files: list[File] = [(Path(path).name, Path(path).read_bytes()) for path in paths]
        return self._operations.images.create(self._slug, images=files)


def flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """One level of keys: objects within objects become ``outer.inner``.

    >>> flat({"id": 1, "response": {"answer": "yes"}})
    {'id': 1, 'response.answer': 'yes'}
    """
    found: dict[str, Any] = {}
    for name, value in row.items():
        inner = flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
        found |= inner
    return found
