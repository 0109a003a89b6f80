"""Releases of reports, and what is in them."""

from __future__ import annotations

import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from typing import Any

from annotator.models import Study
from evaluation.models import Report
from evaluation.releases.about import About, Built
from evaluation.releases.archive import ATTRIBUTES, DESCRIBED, EPOCH, MADE, MANIFEST, PLAN
from evaluation.releases.build import release_build
from evaluation.releases.signature import PUBLIC, SIGNATURE, SUMS, public_pem, signature_of, sums_of

KEY = "a key of this release"
PRIVATE = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


class Approved(dict[tuple[str, str], bool]):
    """Every text is approved."""

    def get(self, key: Any, default: Any = None) -> bool:
        return True


def built(
    report: Report, *, key: str = KEY, free_text: bool = True, **about: Any
) -> tuple[Built, io.BytesIO]:
    file = io.BytesIO()
    found = release_build(
        studies=report.studies,
        content=report.content or {},
        key=key,
        private=PRIVATE,
        about=About(**about),
        file=file,
        free_text=free_text,
        decisions=Approved(),
    )
    return found, file


def renamed_away() -> None:
    """As on another installation: the studies and people that were released aren't there."""
    for study in Study.objects.all():
        Study.objects.filter(pk=study.pk).update(slug=f"old-{study.pk}")


def everything(file: io.BytesIO) -> str:
    """All that is in an archive, as text."""
    archive = zipfile.ZipFile(file)
    return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def rows_of(file: io.BytesIO, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in zipfile.ZipFile(file).read(f"tables/{name}.jsonl").splitlines()]


def files_of(file: io.BytesIO) -> dict[str, bytes]:
    archive = zipfile.ZipFile(file)
    return {name: archive.read(name) for name in archive.namelist()}


def packed(files: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    """An archive of these files that looks like a release's."""
    new = io.BytesIO()
    with zipfile.ZipFile(new, "w") as out:
        for name, body in files.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type, info.external_attr = method, ATTRIBUTES
            with out.open(info, "w", force_zip64=True) as part:
                part.write(body)
    new.seek(0)
    return new


def rebuilt(
    file: io.BytesIO,
    change: Callable[[dict[str, bytes]], None],
    *,
    manifest: bool = False,
    sums: bool = False,
    private: str = "",
) -> io.BytesIO:
    """A release with some of its files changed; ``manifest`` and ``sums`` are made to fit, ``private`` signs it again."""
    files = files_of(file)
    change(files)
    if manifest:
        found = json.loads(files[MANIFEST])
        found["files"] = {
            name: {"sha256": sha256(files[name]).hexdigest(), "bytes": len(files[name])}
            for name in (*MADE, *PLAN, *DESCRIBED)
            if name in files
        }
        files[MANIFEST] = (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode()
    if private:
        files[PUBLIC] = public_pem(private)
    if sums or private:
        listed = [name for name in (*MADE, *PLAN, *DESCRIBED, MANIFEST, PUBLIC) if name in files]
        files[SUMS] = sums_of({name: sha256(files[name]).hexdigest() for name in listed})
    if private:
        files[SIGNATURE] = signature_of(files[SUMS], private)
    return packed(files)


def listed_again(files: dict[str, bytes], name: str) -> None:
    """Give the descriptions that list all files the digest and size that a file has now."""
    digest, size = sha256(files[name]).hexdigest(), len(files[name])
    new = {"croissant.json": {"contentSize": f"{size} B", "sha256": digest},
           "datapackage.json": {"bytes": size, "hash": f"sha256:{digest}"},
           "ro-crate-metadata.json": {"contentSize": str(size), "sha256": digest}}  # fmt: skip
    for index, part, key in (
        ("croissant.json", "distribution", "@id"),
        ("datapackage.json", "resources", "path"),
        ("ro-crate-metadata.json", "@graph", "@id"),
    ):
        found = json.loads(files[index])
        next(one for one in found[part] if one[key] == name).update(new[index])
        files[index] = (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode()


def flips(body: bytes, regions: int, dice: random.Random) -> list[bytes]:
    """The file with one byte changed in each of this many equal regions."""
    edges = [len(body) * number // regions for number in range(regions + 1)]
    found = []
    for start, end in pairwise(edges):
        if end > start:
            at = dice.randrange(start, end)
            found.append(body[:at] + bytes([body[at] ^ dice.randrange(1, 256)]) + body[at + 1 :])
    return found


def unpacks_alike(body: bytes, whole: bytes) -> bool:
    """Whether an archive of the same length differs only in how its files are packed: deflate can say the same in several ways.

    One more bit after the end of a file, or another place where the same words were before, changes nothing that's in the release.
    """
    if len(body) != len(whole):
        return False
    at = 0
    for info in zipfile.ZipFile(io.BytesIO(whole)).infolist():
        start = info.header_offset + 30 + int.from_bytes(whole[info.header_offset + 26 :][:2], "little")
        start += int.from_bytes(whole[info.header_offset + 28 :][:2], "little")
        end = start + info.compress_size
        if body[at:start] != whole[at:start]:
            return False
        if body[start:end] != whole[start:end] and _inflated(body[start:end]) != _inflated(whole[start:end]):
            return False
        at = end
    return body[at:] == whole[at:]


def _inflated(packed: bytes) -> tuple[bytes, bool, bytes] | None:
    """What is packed, whether it comes to an end, and what follows; ``None`` if it can't be unpacked."""
    found = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        return found.decompress(packed), found.eof, found.unused_data
    except zlib.error:
        return None
