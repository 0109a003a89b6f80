"""The user that the servers run as when root starts them: one of their own, who owns nothing else."""

from __future__ import annotations

import fcntl
import logging
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.embedded.errors import EmbeddedError

log = logging.getLogger(__name__)
NAME = "foretell-servers"
#: What earlier versions ran the servers as, and what is left if no user can be created.
SHARED = "nobody"
CREATE = (
    *("useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent"),
    *("--shell", "/usr/sbin/nologin", NAME),
)


@dataclass(frozen=True, slots=True)
class SystemUser:
    """The user a server runs as: ``foretell-servers`` when we are root (Postgres refuses root), else ourselves."""

    uid: int
    gid: int
    dropped: bool

    @classmethod
    def for_servers(cls) -> SystemUser:
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid(), dropped=False)
        entry = find_or_create()
        return cls(entry.pw_uid, entry.pw_gid, dropped=True)

    def popen_args(self) -> dict[str, Any]:
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.dropped else {}


def find(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def find_or_create() -> pwd.struct_passwd:
    """The servers' own user, created on first use; ``nobody`` where that's impossible, such as with a read-only ``/etc``.

    A number without an entry in the password file isn't enough: ``initdb`` looks its user up.
    """
    if (entry := find(NAME)) is None and (useradd := shutil.which(CREATE[0])):
        # Only locked, never written; a new file would need a folder into which no other user can put a link.
        with Path("/etc/passwd").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (entry := find(NAME)) is None:
                done = subprocess.run([useradd, *CREATE[1:]], capture_output=True, text=True, check=False)  # noqa: S603
                if (entry := find(NAME)) is None:
                    log.warning("useradd could not create the user %s: %s", NAME, done.stderr.strip())
    if entry is not None:
        return entry
    if (shared := find(SHARED)) is None:
        raise EmbeddedError(
            f"Postgres doesn't run as root, and there is no user {NAME}: create it with `{' '.join(CREATE)}`, or start "
            "Foretell as an ordinary user"
        )
    log.warning("Postgres and Redis run as %s, which other programs share: create the user %s", SHARED, NAME)
    return shared


def take_over(directory: Path, account: SystemUser) -> None:
    """Give a data directory that earlier versions ran as ``nobody`` to the servers' own user.

    Nothing may run in the directory. Links are changed themselves, never what they point to.
    """
    shared = find(SHARED)
    if not account.dropped or shared is None or account.uid == shared.pw_uid or not directory.exists():
        return
    if directory.stat().st_uid != shared.pw_uid:
        return
    for folder, _, files in os.walk(directory, topdown=False):
        for name in files:
            os.chown(Path(folder) / name, account.uid, account.gid, follow_symlinks=False)
        os.chown(folder, account.uid, account.gid)  # the top comes last: a killed attempt is repeated


def check_owner(directory: Path, account: SystemUser) -> None:
    """Refuse a data directory that another user's ``make run`` created: the servers couldn't open it."""
    owner = directory.stat().st_uid if directory.exists() else account.uid
    if owner != account.uid:
        raise EmbeddedError(
            f"{directory} belongs to user {owner} and the servers would run as user {account.uid}: "
            "run as the user who made it, or choose another DATA_DIR"
        )
