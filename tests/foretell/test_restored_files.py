"""The archive of files in a backup is read without trusting it, on every supported Python."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from foretell.backup import BackupError
from foretell.restore import stored_files


def write(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.mtime = kind, link, mode, 1_000_000
    info.size = 3 if kind == tarfile.REGTYPE else 0
    return info


def test_each_file_comes_with_its_path(tmp_path: Path) -> None:
    archive = write(tmp_path / "files.tar.gz", member("exports/one.csv", mode=0o4777), member("./two"))
    read = [(str(path), info.mtime, content.read()) for info, path, content in stored_files(archive)]
    assert read == [("exports/one.csv", 1_000_000, b"xxx"), ("two", 1_000_000, b"xxx")]


@pytest.mark.parametrize(
    "hostile",
    [
        member("/etc/cron.d/x"),
        member("//etc/x"),
        member("../outside"),
        member("a/../../outside"),
        member("."),
        member("link", tarfile.SYMTYPE, link="/etc"),
        member("link", tarfile.SYMTYPE, link="inside"),
        member("link", tarfile.LNKTYPE, link="../../etc/passwd"),
        member("device", tarfile.CHRTYPE),
        member("device", tarfile.BLKTYPE),
        member("pipe", tarfile.FIFOTYPE),
        member("folder", tarfile.DIRTYPE),
        member("holes", tarfile.GNUTYPE_SPARSE),
    ],
    ids=lambda info: f"{info.name} {info.type.decode()}",
)
def test_anything_but_a_file_below_the_storage_is_refused(tmp_path: Path, hostile: tarfile.TarInfo) -> None:
    archive = write(tmp_path / "files.tar.gz", member("first"), hostile)
    with pytest.raises(BackupError, match=r"isn't a file of a backup|can't be read"):
        list(stored_files(archive))


def test_a_name_with_a_null_byte_is_refused(tmp_path: Path) -> None:
    info = member("short")
    info.pax_headers = {"path": "a\0b"}
    with tarfile.open(tmp_path / "files.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(b"xxx"))
    with pytest.raises(BackupError, match="isn't a file of a backup"):
        list(stored_files(tmp_path / "files.tar.gz"))


@pytest.mark.parametrize("length", [0, 10, 60])
def test_a_truncated_archive_is_a_clear_error(tmp_path: Path, length: int) -> None:
    archive = write(tmp_path / "files.tar.gz", member("first"), member("second"))
    archive.write_bytes(archive.read_bytes()[:length])
    with pytest.raises(BackupError, match="can't be read"):
        list(stored_files(archive))
