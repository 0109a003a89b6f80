"""Rows of a log of Inspect (``.eval``): one for each sample and epoch, as JSON lines.

https://inspect.aisi.org.uk/eval-logs.html. The log is a zip archive with one JSON file for each sample, compressed with zstandard,
which Python's own ``zipfile`` reads from 3.14 on only. Its events aren't read.
"""

from __future__ import annotations

import json
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any

from annotator.core.archives import ARCHIVE_ERRORS
from annotator.core.tables.faults import FaultLog

JSON = dict[str, Any]
#: Compression methods of the members, by their number in the zip format.
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_ATTACHMENT = "attachment://"
#: The largest sample, unpacked: reading its JSON takes several times as much memory.
MOST_SAMPLE_BYTES = 64_000_000


def log_as_lines(file: IO[bytes], *, most_bytes: int, most_rows: int, log: FaultLog) -> IO[bytes]:
    """The log's samples as JSON lines, in a temporary file, by id and epoch in the order of the archive.

    Columns: ``key`` (the id, with the epoch if there are several), ``instance`` and ``sample_id`` (the id), ``epoch``, ``task``, ``model``,
    ``input``, ``target``, ``choices``, ``completion``, ``reasoning``, ``scored_answer`` and ``score`` of the first scorer, ``score.NAME`` of each,
    and ``metadata.NAME``. What a sample doesn't have is left out. Raises ``FileRefused`` for anything else than a log, and for
    one that unpacks to more than ``most_bytes``.
    """
    rows = tempfile.TemporaryFile()  # noqa: SIM115 - returned
    try:
        with zipfile.ZipFile(file) as archive:
            members = _samples(archive, most_bytes=most_bytes, most_rows=most_rows, log=log)
            about = _about(archive, file)
            several = len({one.filename.rpartition("_epoch_")[2] for one in members}) > 1
            for member in members:
                sample = _object(_content(file, member))
                row = _row(sample, about, with_epoch=several)
                rows.write(
                    json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
                )
    except ARCHIVE_ERRORS as error:
        log.refuse(f"is not a readable log of Inspect: {error}"[:300])
    rows.seek(0)
    return rows


def _samples(
    archive: zipfile.ZipFile, *, most_bytes: int, most_rows: int, log: FaultLog
) -> list[zipfile.ZipInfo]:
    """The files of the samples. Of several with one name, which a log that was continued has, the last one counts."""
    found = {
        one.filename: one
        for one in archive.infolist()
        if one.filename.startswith("samples/") and one.filename.endswith(".json")
    }
    if not found or len(found) > most_rows:
        log.refuse(
            f"expected a log of Inspect with 1 to {most_rows:,} samples, got {len(found):,}"
            + ("" if found else ". Was it made with --no-log-samples?")
        )
    largest = max(one.file_size for one in found.values())
    if sum(one.file_size for one in found.values()) > most_bytes or largest > MOST_SAMPLE_BYTES:
        log.refuse(
            f"unpacks to more than {most_bytes / 1e6:,.0f} MB, or {MOST_SAMPLE_BYTES / 1e6:,.0f} MB for one sample; the most that is read"
        )
    return list(found.values())


def _about(archive: zipfile.ZipFile, file: IO[bytes]) -> JSON:
    """The log's task and model, from its header or, if it wasn't finished, from its start."""
    for name in ("header.json", "_journal/start.json"):
        if name in archive.namelist():
            member = archive.getinfo(name)
            if member.file_size > MOST_SAMPLE_BYTES:
                break
            found = _object(_content(file, member)).get("eval")
            return found if isinstance(found, dict) else {}
    return {}


def _content(file: IO[bytes], member: zipfile.ZipInfo) -> bytes:
    """The unpacked content of a member, never more than the archive says that it has. Raises ``BadZipFile``."""
    file.seek(member.header_offset)
    header = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if header[0] != b"PK\x03\x04" or member.flag_bits & 0x1:
        raise zipfile.BadZipFile("a member is damaged or encrypted")
    file.seek(header[9] + header[10], 1)
    packed = file.read(member.compress_size)
    content = _unpacked(packed, member.compress_type, member.file_size)
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} is damaged")
    return content


def _unpacked(packed: bytes, method: int, size: int) -> bytes:
    """At most one byte more than ``size``, so that a small member can't expand to a large one."""
    if method == _STORED:
        return packed
    if method == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
    if method != _ZSTANDARD:
        raise zipfile.BadZipFile(f"compression method {method}")
    import pyarrow as pa  # it takes a third of a second to load

    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read(size + 1))


def _object(content: bytes) -> JSON:
    value = json.loads(content, parse_constant=lambda _: None)
    if not isinstance(value, dict):
        raise zipfile.BadZipFile("a member isn't a JSON object")
    return value


def _row(sample: JSON, about: JSON, *, with_epoch: bool) -> JSON:
    name, epoch = str(sample.get("id")), sample.get("epoch") or 1
    attachments = _dict(sample.get("attachments"))
    output = _dict(sample.get("output"))
    row: JSON = {
        "key": f"{name} (epoch {epoch})" if with_epoch else name,
        "instance": name,
        "sample_id": name,
        "epoch": epoch,
        "task": about.get("task"),
        "model": output.get("model") or about.get("model"),
        "input": _text(_input(sample.get("input")), attachments),
        "target": _joined(sample.get("target")),
        "choices": sample.get("choices"),
        "completion": _text(_completion(output), attachments),
        "reasoning": _text(_reasoning(output), attachments),
    }
    scores = _dict(sample.get("scores"))
    for place, (scorer, score) in enumerate(scores.items()):
        value = _dict(score).get("value")
        if place == 0:
            row |= {"scored_answer": _dict(score).get("answer"), "score": _joined(value)}
        row[f"score.{scorer}"] = _joined(value)
    for key, value in _dict(sample.get("metadata")).items():
        if isinstance(value, str | int | float | bool):
            row[f"metadata.{key}"] = _text(value, attachments) if isinstance(value, str) else value
    return {key: value for key, value in row.items() if value not in (None, "", [])}


def _dict(value: Any) -> JSON:
    return value if isinstance(value, dict) else {}


def _joined(value: Any) -> Any:
    """A list as one text; an object as JSON."""
    if isinstance(value, list):
        return " | ".join(str(one) for one in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def _input(value: Any) -> str:
    """The question as the sample's author wrote it: a text, or the user's messages of a chat."""
    if isinstance(value, list):
        return "\n\n".join(_parts(one, "text") for one in value if _dict(one).get("role") == "user")
    return str(value or "")


def _completion(output: JSON) -> str:
    if isinstance(said := output.get("completion"), str):
        return said
    return _parts(_message(output), "text")


def _reasoning(output: JSON) -> str:
    return _parts(_message(output), "reasoning")


def _message(output: JSON) -> JSON:
    choices = output.get("choices")
    return _dict(_dict(choices[0]).get("message")) if isinstance(choices, list) and choices else {}


def _parts(message: Any, kind: str) -> str:
    """The text of a message, or its reasoning: a string is text, and a list has parts of both."""
    content = _dict(message).get("content")
    if isinstance(content, str):
        return content if kind == "text" else ""
    return "".join(_part_texts(content if isinstance(content, list) else [], kind))


def _part_texts(parts: list[Any], kind: str) -> Iterator[str]:
    for part in parts:
        if _dict(part).get("type") == kind:
            yield str(part.get(kind) or "")


def _text(text: str, attachments: Mapping[str, Any]) -> str:
    """The text itself where the log has only a reference to it."""
    if not text.startswith(_ATTACHMENT):
        return text
    return str(attachments.get(text.removeprefix(_ATTACHMENT), text))
