"""Operations on kept studies. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict, Unpack

from foretell_client.operations.shared import ReportState
from foretell_client.transport import Download, File, Transport, part

KeptJobKind = Literal["keep", "bring_back", "template"]


class BringBack(TypedDict, total=False):
    """The key that the study was kept with; the file, if the installation has no copy; another short name,
    if the old one is taken.
    """

    passphrase: str
    key_file: File
    file: File
    slug: str
    as_template: bool


class Keep(TypedDict, total=False):
    """The passphrase that the file is encrypted with, and what may be deleted because it isn't in the
    file.
    """

    passphrase: Required[str]
    without_releases: bool
    without_shared_reports: bool


class KeptJob(TypedDict):
    """A background job that keeps a study in a file, brings it back, or makes a draft like it."""

    id: int
    kind: KeptJobKind
    slug: str
    kept: int | None
    state: ReportState
    progress: str
    error: str
    created_at: str
    started_at: str | None
    finished_at: str | None


class KeptStudy(TypedDict):
    """A study that is in a file."""

    id: int
    slug: str
    title: str
    workspace: int | None
    workspace_name: str
    stored: bool
    sha256: str
    bytes: int
    passphrase: bool
    people: int
    rows: Any
    kept_at: str


class KeptStudiesOperations:
    """Operations on kept studies."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def kept_jobs(self, id: int, /) -> KeptJob:
        """The state of the job."""
        reply: KeptJob = self._http.json("GET", f"kept-jobs/{id}/")
        return reply

    def all(self) -> list[KeptStudy]:
        """The studies that are in files, of the workspaces that you own, newest first (at most 1,000)."""
        reply: list[KeptStudy] = self._http.json("GET", "kept-studies/")
        return reply

    def read(self, id: int, /) -> KeptStudy:
        """What is known of the study and its file."""
        reply: KeptStudy = self._http.json("GET", f"kept-studies/{id}/")
        return reply

    def bring_back(self, id: int, /, **sent: Unpack[BringBack]) -> KeptJob:
        """Make the study again, archived as it was, or a draft like it, from the uploaded file or the
        installation's copy; a background job does it.
        """
        reply: KeptJob = self._http.json("POST", f"kept-studies/{id}/bring-back/", body=sent)
        return reply

    def download(self, id: int, /) -> Download:
        """The encrypted file; 404 if the installation has no copy."""
        return self._http.download("GET", f"kept-studies/{id}/download/")

    def file_delete(self, id: int, /) -> None:
        """Delete the file of a study that was brought back; 404 while the study is only in it."""
        self._http.nothing("DELETE", f"kept-studies/{id}/file/")

    def keep(self, study: str, /, **sent: Unpack[Keep]) -> KeptJob:
        """Write an archived study with its people to an encrypted file and remove it; a background job does
        it. For owners of the workspace.
        """
        reply: KeptJob = self._http.json("POST", f"studies/{part(study)}/keep/", body=sent)
        return reply
